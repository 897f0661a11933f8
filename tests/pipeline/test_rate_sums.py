"""Rates that are summed up a day at a time are those of all rows at once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kedge.errors import InvalidRequest
from kedge.pipeline.manifest import Manifest
from kedge.pipeline.rates_reader import RateSums, mean_rates, read_rates
from kedge.pipeline.reference import reference_of, write_reference
from kedge.pipeline.warehouse import open_warehouse

DAY_S = 86_400
INTERVAL_S = 60
FIRST = 20_000 * DAY_S


def samples(day: int, rng: np.random.Generator) -> pa.Table:
    """Samples of three partitions at the minutes of an hour, with parts of intervals covered."""
    ends = np.repeat(FIRST + day * DAY_S + INTERVAL_S * np.arange(1, 61), 3)
    count = len(ends)
    return pa.table(
        {
            "topic": ["orders", "orders", "ledger"] * (count // 3),
            "partition": pa.array([0, 1, 0] * (count // 3), pa.int32()),
            "ts": pa.array(ends * 1_000_000, pa.timestamp("us", "UTC")),
            "bytes_in": pa.array(rng.uniform(0, 1e6, count)),
            "bytes_out": pa.array(rng.uniform(0, 1e6, count)),
            "in_by": [(None, "offsets", "sizes")[at] for at in rng.integers(0, 3, count)],
            "out_by": rng.choice(["groups", "bytes in"], count).tolist(),
            "in_covered_ms": pa.array(rng.integers(30_000, 60_001, count), pa.int64()),
            "out_covered_ms": pa.array([None] * count, pa.int64()),
        }
    )


@pytest.mark.parametrize(
    ("start", "end"),
    [(None, None), (FIRST + 600.5, FIRST + DAY_S + 900.25), (FIRST + DAY_S, None)],
)
def test_days_that_are_added_one_by_one_give_the_rates_of_all_rows(
    start: float | None, end: float | None
) -> None:
    rng = np.random.default_rng(7)
    days = [samples(day, rng) for day in range(3)]
    by_day = RateSums(INTERVAL_S, start, end)
    for rows in days:
        by_day.add(rows)
    at_once = mean_rates(pa.concat_tables(days), "c", INTERVAL_S, start=start, end=end)
    assert [(r.topic, r.partition) for r in at_once] == [
        ("ledger", 0),
        ("orders", 0),
        ("orders", 1),
    ]
    for one, other in zip(by_day.rates("c"), at_once, strict=True):
        assert one.in_bytes_per_s == pytest.approx(other.in_bytes_per_s)
        assert one.out_bytes_per_s == pytest.approx(other.out_bytes_per_s)
        assert (one.topic, one.in_by, one.out_by) == (other.topic, other.in_by, other.out_by)


def test_no_sample_between_the_moments_gives_no_rates() -> None:
    rows = samples(0, np.random.default_rng(7))
    assert mean_rates(rows, "c", INTERVAL_S, start=FIRST + 2 * DAY_S, end=None) == []


def write_tables(root: Path, days: int) -> Path:
    """Tables with samples of cluster `c`, and with a cluster `d` that has none."""
    rng = np.random.default_rng(7)
    with open_warehouse(root, "run") as warehouse, warehouse.stage() as staged:
        for day in range(days):
            rows = samples(day, rng)
            rows = rows.append_column("cluster", pa.repeat(pa.scalar("c"), len(rows)))
            rows = rows.append_column("is_leader", pa.repeat(pa.scalar(value=True), len(rows)))
            name = f"{datetime.fromtimestamp(FIRST + day * DAY_S, UTC):%Y-%m-%d}"
            staged.write_arrow("silver", rows, name)
        brokers = [{"cluster": cluster, "broker": 1} for cluster in ("c", "d")]
        write_reference(reference_of(brokers, []), staged)
        warehouse.publish(staged, Manifest())
    return root


def test_a_refusal_tells_a_cluster_that_is_not_known_from_a_time_without_samples(
    tmp_path: Path,
) -> None:
    tables = write_tables(tmp_path / "tables", 2)
    assert len(read_rates(tables, "c")) == 3
    with pytest.raises(InvalidRequest, match=r"unknown cluster other; clusters: c, d"):
        read_rates(tables, "other")
    with pytest.raises(InvalidRequest, match="no samples of cluster d; see what"):
        read_rates(tables, "d")
    span = rf"from {FIRST} to {FIRST + DAY_S + 3600}$"
    for start in (FIRST + 7200, FIRST + 30 * DAY_S, FIRST - 30 * DAY_S):
        with pytest.raises(InvalidRequest, match=f"between these times; there are samples {span}"):
            read_rates(tables, "c", start=start, end=start + 600)
