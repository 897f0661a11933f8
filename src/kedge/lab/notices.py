"""Notices of changed configs: written for brokers to read, and dropped when they have had time to.

Kafka's brokers drop them after a quarter of an hour. Those of a lab read configs where they are, so
a few hundred are kept, for people to look at, and the store does not grow with every change.
"""

from __future__ import annotations

from kedge.store.port import Children, Delete, GetChildren, Store
from kedge.store.znodes.paths import CONFIG_CHANGES

KEPT = 200


def drop_old_notices(store: Store) -> None:
    """Keep the youngest; names end in a number that grows."""
    (found,) = store.batch([GetChildren(CONFIG_CHANGES)])
    if isinstance(found, Children) and len(found.names) > KEPT:
        old = sorted(found.names)[:-KEPT]
        store.batch([Delete(f"{CONFIG_CHANGES}/{name}") for name in old])
