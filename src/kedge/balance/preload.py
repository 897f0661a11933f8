"""Import the libraries and kernels of a search ahead of time, on a second thread.

They take about as long to import as a large snapshot to read, and compiled code runs without
Python's lock: so reading and bounds overlap with the imports that come after them.
"""

from __future__ import annotations

from importlib import import_module

IN_SEQUENCE_OF_USE = (
    "kedge.balance.bounds.bytes_per_broker",  # which imports numba
    "kedge.balance.bounds.price_ascent",
    "highspy",
    "kedge.balance.search.initial_state",
    "kedge.balance.search.kernels.mandatory_moves",
    "kedge.balance.search.kernels.undo_moves",
    "kedge.balance.search.kernels.leadership",
    "kedge.balance.search.kernels.anneal",
    "kedge.balance.bounds.candidate_brokers",
    "kedge.balance.search.kernels.price_anneal",
)


def preload() -> None:
    """Import all of them."""
    for name in IN_SEQUENCE_OF_USE:
        import_module(name)
