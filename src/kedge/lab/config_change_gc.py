"""Deletes old config-change notifications from the store, so that it does not grow with each one.

Kafka's brokers delete them after 15 minutes. The lab's brokers read configs directly, so the newest
few hundred are kept for inspection only.
"""

from __future__ import annotations

from kedge.store.port import Children, Delete, GetChildren, Store
from kedge.store.znodes.paths import CONFIG_CHANGES

KEPT = 200


def delete_old_config_changes(store: Store) -> None:
    """Keep the newest notifications; their names end in a sequence number."""
    (found,) = store.batch([GetChildren(CONFIG_CHANGES)])
    if isinstance(found, Children) and len(found.names) > KEPT:
        old = sorted(found.names)[:-KEPT]
        store.batch([Delete(f"{CONFIG_CHANGES}/{name}") for name in old])
