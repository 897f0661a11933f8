"""The nodes that must be there before anybody can work: what Kafka's brokers create at start."""

from __future__ import annotations

from kedge.store.port import Create, Store
from kedge.store.znodes import persistent_paths


def prepare(store: Store) -> None:
    """Create the persistent nodes; those that are there already stay as they are."""
    store.batch([Create(path) for path in persistent_paths()])
