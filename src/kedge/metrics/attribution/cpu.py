"""A model of brokers' cpu, fitted to what was measured.

The cpu of a broker is taken for a sum: a constant, and a cost for each byte that clients append,
that clients read, and that it fetches and serves as a replica. No cost is below 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike

from kedge.metrics.attribution.samples import Floats
from kedge.model.arrow import Table

GOOD_FIT: Final = 0.7  # of the variance: a model that explains less is not used by plans
_ROWS_MIN: Final = 20
_SWEEPS: Final = 5_000
_STILL: Final = 1e-12
TRAFFIC: Final = ("bytes_in", "bytes_out", "replication_in", "replication_out")


@dataclass(frozen=True, slots=True)
class CpuModel:
    """Cpu (share of a machine, or cores, as in the data) by traffic in bytes per second."""

    constant: float
    per_byte_in: float
    per_byte_out: float
    per_byte_replication_in: float
    per_byte_replication_out: float
    r_squared: float  # the part of the variance that it explains; 1 is all
    rows: int

    @property
    def good(self) -> bool:
        """Whether plans may use it."""
        return self.r_squared >= GOOD_FIT

    def predict(
        self,
        bytes_in: ArrayLike,
        bytes_out: ArrayLike,
        replication_in: ArrayLike,
        replication_out: ArrayLike,
    ) -> Floats:
        """The cpu of brokers with such traffic, in bytes per second."""
        return np.asarray(
            self.constant
            + self.per_byte_in * np.asarray(bytes_in, np.float64)
            + self.per_byte_out * np.asarray(bytes_out, np.float64)
            + self.per_byte_replication_in * np.asarray(replication_in, np.float64)
            + self.per_byte_replication_out * np.asarray(replication_out, np.float64)
        )


def fit_cpu(traffic: Table) -> CpuModel | None:
    """Fit to intervals of `brokers.broker_traffic`; None where too few tell cpu and traffic.

    Where brokers export the cpu time of their process, cpu is in cores; else a share of the
    machine. Traffic that no broker exports costs nothing in the model.
    """
    seconds = _column(traffic, "covered_ms") / 1000
    cpu = _column(traffic, "cpu_seconds") / np.maximum(seconds, 1e-9)
    if not np.isfinite(cpu).any():
        cpu = _column(traffic, "cpu")
    loads = [_column(traffic, name) / np.maximum(seconds, 1e-9) for name in TRAFFIC]
    loads = [load if np.isfinite(load).any() else np.zeros_like(load) for load in loads]
    features = np.column_stack([np.ones_like(cpu), *loads])
    usable = np.isfinite(cpu) & np.isfinite(features).all(axis=1) & (seconds > 0)
    # a partial interval at the start or the end is noisier than the others
    usable &= seconds >= 0.5 * np.max(seconds, initial=0.0)
    if usable.sum() < _ROWS_MIN:
        return None
    features, cpu = features[usable], cpu[usable]
    costs = non_negative_least_squares(features, cpu)
    left = float(((cpu - features @ costs) ** 2).sum())
    spread = float(((cpu - cpu.mean()) ** 2).sum())
    explained = 1 - left / spread if spread > 0 else 0.0
    one, *four = cast("list[float]", costs.tolist())
    return CpuModel(one, *four, r_squared=max(explained, 0.0), rows=int(usable.sum()))


def _column(table: Table, name: str) -> Floats:
    found: Any = table[name].to_numpy()
    return np.asarray(found, np.float64)


def non_negative_least_squares(features: Floats, target: Floats) -> Floats:
    """Coefficients of at least 0 with the least squared error, by coordinate descent."""
    scale = np.sqrt((features**2).sum(axis=0))
    scaled = features / np.where(scale > 0, scale, 1.0)
    products, pull = scaled.T @ scaled, scaled.T @ target
    found = np.zeros(features.shape[1])
    for _ in range(_SWEEPS):
        before = found.copy()
        for at in np.flatnonzero(scale > 0):
            gap = pull[at] - products[at] @ found
            found[at] = max(0.0, found[at] + gap / products[at, at])
        if np.abs(found - before).max() <= _STILL * max(np.abs(found).max(), 1e-300):
            break
    return found / np.where(scale > 0, scale, 1.0)
