"""Bounds that no plan can beat: the best balance, and the fewest bytes that reach it."""

from kedge.balance.bounds.all_bounds import (
    BROKERS,
    CONFLICT,
    PLACEMENTS,
    Bounds,
    BytesProof,
    bounds_of,
    bytes_bound,
    bytes_proof,
    load_units,
    target_for,
)

__all__ = [
    "BROKERS",
    "CONFLICT",
    "PLACEMENTS",
    "Bounds",
    "BytesProof",
    "bounds_of",
    "bytes_bound",
    "bytes_proof",
    "load_units",
    "target_for",
]
