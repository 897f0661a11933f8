"""The file of rates that runs on a cluster have measured, beside the runs of that cluster."""

from __future__ import annotations

from pathlib import Path

from kedge.execution.prediction.learned_rates import RateRecord, read_rates
from kedge.files import path_component, read_bytes, with_path_context

RATES = "rates.jsonl"


def measured_rates(state: Path, cluster_id: str | None) -> list[RateRecord]:
    """What earlier runs have measured; nothing where there is no such file."""
    if cluster_id is None:
        return []
    path = state / path_component(cluster_id) / RATES
    if not path.is_file():
        return []
    data = read_bytes(path)
    with with_path_context(path):
        return read_rates(data)
