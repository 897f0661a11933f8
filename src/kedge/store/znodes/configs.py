"""Encodes and decodes configs of topics, brokers, users, clients and IPs: `/config/…`."""

from __future__ import annotations

from collections.abc import Mapping

from kedge.model.scala_map_order import properties_order
from kedge.store.znodes.json_fields import dump, load


def encode_config(settings: Mapping[str, str]) -> bytes:
    """Encode the configs set on an entity; values are always strings."""
    ordered = {name: settings[name] for name in properties_order(settings)}
    return dump({"version": 1, "config": ordered})


def decode_config(data: bytes | None, path: str) -> dict[str, str]:
    """Decode the configs set on an entity; an empty node has none, as an absent one."""
    if not data:
        return {}
    fields = load(data, path)
    fields.version(newest=1)
    settings = fields.object("config")
    return {name: settings.text(name) for name in settings}
