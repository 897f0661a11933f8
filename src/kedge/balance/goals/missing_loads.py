"""Loads that a snapshot has no figures of: they cannot be balanced, and a note names them."""

from __future__ import annotations

import numpy as np

from kedge.model.snapshot import Snapshot


def has_rates(snapshot: Snapshot) -> bool:
    """Whether any partition has a rate of bytes in or out."""
    return bool((~np.isnan(snapshot.bytes_in)).any() or (~np.isnan(snapshot.bytes_out)).any())


def missing_loads(snapshot: Snapshot) -> list[str]:
    """Names of the loads that a snapshot has no figures of."""
    disk = ["disk"] if len(snapshot) and not bool((snapshot.size >= 0).any()) else []
    if not has_rates(snapshot):
        return [*disk, "network", "cpu"]
    return disk if snapshot.cpu_model is not None else [*disk, "cpu"]


def missing_loads_text(snapshot: Snapshot) -> str:
    """`network and cpu: no data`, or nothing where all loads are known."""
    *first, last = missing_loads(snapshot) or [""]
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"{listed}: no data" if last else ""
