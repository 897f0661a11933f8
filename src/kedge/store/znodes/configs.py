"""Settings of topics, brokers, users, clients and addresses: `/config/…`."""

from __future__ import annotations

from collections.abc import Mapping

from kedge.store.znodes.fields import dump, load
from kedge.store.znodes.order import properties_order


def encode_config(settings: Mapping[str, str]) -> bytes:
    """An entity's own settings; values are always texts."""
    ordered = {name: settings[name] for name in properties_order(settings)}
    return dump({"version": 1, "config": ordered})


def decode_config(data: bytes | None, path: str) -> dict[str, str]:
    """An entity's own settings; an empty node has none, as an absent one."""
    if not data:
        return {}
    fields = load(data, path)
    fields.version(newest=1)
    settings = fields.object("config")
    return {name: settings.text(name) for name in settings}
