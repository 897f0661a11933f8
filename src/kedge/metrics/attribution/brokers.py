"""Traffic of whole brokers by interval: of clients, and of replication, which is kept apart.

Bytes of clients are those of all topics together. Replication is measured by broker only, in
neither bytes in nor bytes out of a topic, and includes the traffic of reassignments.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from kedge.metrics.attribution.grid import DEFAULT_GRID_MS, Grid
from kedge.metrics.attribution.samples import Floats, Ints, Points, TopicSamples, read_samples
from kedge.metrics.attribution.totals import totals
from kedge.metrics.measurement import NONE, Series
from kedge.model.arrow import Table, arrow, compute

_pa = arrow()
_MEASURED: Final = {
    "bytes_in": (Series.BYTES_IN, Series.BYTES_IN_RATE),
    "bytes_out": (Series.BYTES_OUT, Series.BYTES_OUT_RATE),
    "replication_in": (Series.REPLICATION_IN, Series.REPLICATION_IN_RATE),
    "replication_out": (Series.REPLICATION_OUT, Series.REPLICATION_OUT_RATE),
    "reassignment_in": (Series.REASSIGNMENT_IN, None),
    "reassignment_out": (Series.REASSIGNMENT_OUT, None),
    "cpu_seconds": (Series.CPU_SECONDS, None),
}
BROKER_COLUMNS: Final[Any] = _pa.schema(
    [
        _pa.field("broker", _pa.int32(), nullable=False),
        _pa.field("start_ms", _pa.int64(), nullable=False),
        _pa.field("end_ms", _pa.int64(), nullable=False),
        # amounts of the interval; null where the broker does not export them
        *(_pa.field(name, _pa.float64()) for name in _MEASURED),
        _pa.field("cpu", _pa.float64()),  # mean share of the machine, 0 to 1
        _pa.field("covered_ms", _pa.float64(), nullable=False),  # the part that was measured
    ]
)


def broker_traffic(table: Table, grid_ms: int | None = None) -> Table:
    """From the measurements of one cluster that have no topic; columns are `BROKER_COLUMNS`."""
    samples = read_samples(table.filter(compute().equal(table["topic"], "")))
    span = samples.span()
    brokers = np.unique(np.concatenate([*map(_brokers, samples.series.values()), _NO_BROKERS]))
    if span is None or not len(brokers):
        return BROKER_COLUMNS.empty_table()
    first = span[0] - samples.before_rates()
    grid = Grid.around(first, span[1], DEFAULT_GRID_MS if grid_ms is None else grid_ms)
    amounts = {
        name: _amounts(samples, counter, rate, brokers, grid)
        for name, (counter, rate) in _MEASURED.items()
    }
    ends = np.tile(grid.edges[1:], len(brokers))
    columns: dict[str, Any] = {
        "broker": np.repeat(brokers, grid.count).astype(np.int32),
        "start_ms": ends - grid.step_ms,
        "end_ms": ends,
        **{name: _nullable(amount) for name, amount in amounts.items()},
        "cpu": _nullable(_means(samples, Series.CPU, brokers, grid)),
        "covered_ms": np.tile(grid.overlap(first, span[1]), len(brokers)),
    }
    arrays = [_pa.array(columns[name]) for name in BROKER_COLUMNS.names]
    return _pa.table(arrays, schema=BROKER_COLUMNS)


_NO_BROKERS: Final = np.empty(0, np.int64)


def _brokers(points: Points) -> Ints:
    return points.broker[points.broker != NONE].astype(np.int64)


def _amounts(
    samples: TopicSamples, counter: Series, rate: Series | None, brokers: Ints, grid: Grid
) -> Floats:
    found = totals(samples, counter, counter if rate is None else rate, grid, None)
    amount = np.full((len(brokers), grid.count), np.nan)
    if found is not None:
        amount[np.searchsorted(brokers, found.brokers)] = found.amount
    return amount


def _means(samples: TopicSamples, series: Series, brokers: Ints, grid: Grid) -> Floats:
    points = samples[series]
    cell = np.searchsorted(brokers, points.broker) * grid.count + grid.at(points.ts)
    size = len(brokers) * grid.count
    count = np.bincount(cell, minlength=size)
    total = np.bincount(cell, weights=points.value, minlength=size)
    mean = np.divide(total, count, out=np.full(size, np.nan), where=count > 0)
    return mean.reshape(len(brokers), grid.count)


def _nullable(amount: Floats) -> Any:
    return _pa.array(amount.ravel(), from_pandas=True)
