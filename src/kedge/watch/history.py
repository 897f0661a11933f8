"""The history of a cluster as columns, as series for forecasts, and as what is to be paid.

| question | from the samples |
|---|---|
| how did it grow | `totals`, `resource_by_broker`, `broker_columns` |
| when is it full, how many brokers | `broker_series`, for `kedge.analytics.capacity` |
| what did it cost | `usage_by_day`, for `kedge.analytics.cost` |

Bytes in and out are known only where the snapshot has rates; else they are 0 in every sample, and
are left out of forecasts. A broker's bytes include what is replicated, so that only what is stored
can be billed from samples; `kedge cost` bills the rest from the tables of the pipeline.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from kedge.analytics.capacity import BrokerSeries
from kedge.analytics.cost import RESOURCES as BILLED
from kedge.analytics.cost import Usage
from kedge.watch.samples import BrokerSample, Sample

Column = list[float | int | None]
SUMMED = ("disk", "bytes_in", "bytes_out", "replicas", "leaders")
COUNTED = (
    *("partitions", "under_replicated", "out_of_sync", "leaderless"),
    *("moving", "leaders_away", "rack_crowded"),
)
OF_BROKERS = (
    *("alive", "replicas", "leaders", "disk", "capacity"),
    *("bytes_in", "bytes_out", "round_trip_ms"),
)


def totals(history: Sequence[Sample]) -> dict[str, Column]:
    """Sums over all brokers and counts of partitions, a column each, beside the times."""
    columns: dict[str, Column] = {
        name: [sum(getattr(row, name) for row in each.brokers) for each in history]
        for name in SUMMED
    }
    columns |= {name: [getattr(each, name) for each in history] for name in COUNTED}
    columns["capacity"] = [sum(row.capacity or 0.0 for row in each.brokers) for each in history]
    columns["brokers_down"] = [len(each.down) for each in history]
    return columns


def brokers_in(history: Sequence[Sample]) -> list[int]:
    """Every broker of the history, sorted."""
    return sorted({row.broker for each in history for row in each.brokers})


def resource_by_broker(history: Sequence[Sample], name: str) -> dict[int, Column]:
    """One column for each broker; None where it was not there."""
    found: dict[int, Column] = {b: [None] * len(history) for b in brokers_in(history)}
    for place, each in enumerate(history):
        for row in each.brokers:
            found[row.broker][place] = getattr(row, name)
    return found


def broker_columns(history: Sequence[Sample], broker: int) -> dict[str, Column]:
    """Everything of one broker, a column each; None where it was not there."""
    rows = [each.broker(broker) for each in history]
    return {
        name: [None if row is None else getattr(row, name) for row in rows] for name in OF_BROKERS
    }


def has_rates(history: Sequence[Sample]) -> bool:
    """Whether bytes in or out were known at any time."""
    return any(row.bytes_in or row.bytes_out for each in history for row in each.brokers)


def broker_series(history: Sequence[Sample]) -> list[BrokerSeries]:
    """The series of each broker for a forecast; those of the network are empty without rates."""
    rows: dict[int, list[tuple[float, BrokerSample]]] = defaultdict(list)
    for each in history:
        for row in each.brokers:
            rows[row.broker].append((each.at, row))
    return [_series(broker, found) for broker, found in sorted(rows.items())]


def _series(broker: int, rows: list[tuple[float, BrokerSample]]) -> BrokerSeries:
    capacities = [row.capacity for _, row in rows if row.capacity]
    return BrokerSeries(
        broker,
        capacities[-1] if capacities else None,
        np.array([at for at, _ in rows]),
        np.array([row.disk for _, row in rows]),
        np.array([row.bytes_in for _, row in rows]),
        np.array([row.bytes_out for _, row in rows]),
    )


def usage_by_day(history: Sequence[Sample], cluster: str) -> list[Usage]:
    """What all replicas stored on each day (UTC), in byte-seconds; gaps are not counted.

    A gap is a time between two samples that is four times as long as most of them are apart.
    """
    times = np.array([each.at for each in history])
    lengths = np.diff(times)
    gap_s = 4 * float(np.median(lengths)) if len(lengths) else 0.0
    stored: dict[str, float] = defaultdict(float)
    for length, after in zip(lengths.tolist(), history[1:], strict=True):
        if length <= gap_s:
            day = f"{datetime.fromtimestamp(after.at, UTC):%Y-%m-%d}"
            stored[day] += length * sum(row.disk for row in after.brokers)
    nothing = dict.fromkeys(BILLED, 0)
    return [
        Usage(cluster, "", day, {**nothing, "stored": round(amount)})
        for day, amount in sorted(stored.items())
    ]
