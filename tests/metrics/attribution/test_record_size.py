"""Bytes per record from clean intervals of logs."""

from __future__ import annotations

import numpy as np
import pytest

from kedge.metrics.attribution.record_size import RecordSizes, record_sizes
from kedge.metrics.attribution.samples import read_samples
from kedge.metrics.measurement import NONE, Measurement, Series
from tests.metrics.attribution.tables import MINUTE, START, line, log, series, table


def sizes(*rows: list[Measurement], partitions: int = 1) -> RecordSizes:
    return record_sizes(read_samples(table(*rows)), np.arange(partitions, dtype=np.int64))


def test_growth_over_new_records() -> None:
    found = sizes(log(0, line(0, 10, 5), line(500, 1000, 5)))
    assert found.size.tolist() == [100.0]
    assert not found.compacted[0]


def test_intervals_in_which_segments_were_deleted_are_left_out() -> None:
    ends = line(0, 10, 7)
    starts = [0, 0, 0, 25, 25, 25, 25]
    held = [0, 1000, 2000, 500, 1500, 2500, 3500]  # 2,500 bytes are deleted in the third interval
    assert sizes(log(0, ends, held, starts)).size[0] == pytest.approx(100.0)


def test_a_size_read_after_a_deletion_and_a_start_before_it_are_no_compaction() -> None:
    ends = line(0, 10, 8)
    starts = [0, 0, 0, 0, 25, 25, 25, 25]  # the start moves one sample after the size
    held = [0, 1000, 2000, 500, 1500, 2500, 3500, 4500]
    found = sizes(log(0, ends, held, starts))
    assert not found.compacted[0]
    assert found.size[0] == pytest.approx(100.0)


def test_of_a_compacted_log_the_intervals_that_grew() -> None:
    ends = line(0, 10, 12)
    held = [0, 1000, 2000, 900, 1900, 2900, 800, 1800, 2800, 700, 1700, 2700]
    found = sizes(log(0, ends, held))
    assert found.compacted[0]
    assert found.size[0] == pytest.approx(100.0)


def test_replicas_are_not_mixed() -> None:
    """Another replica was scraped earlier; its offsets with this one's size would be wrong."""
    late = log(0, line(1000, 10, 5), line(100_000, 1000, 5))
    early = log(0, line(993, 10, 5), line(99_300, 1000, 5), broker=2)
    assert sizes(late, early).size[0] == pytest.approx(100.0)


def test_a_replica_that_copies_old_records_tells_nothing_at_first() -> None:
    steady = log(0, line(100_000, 10, 8), line(10**6, 1000, 8))
    copy = log(
        0,
        [None, None, None, None, 0, 90_000, 100_060, 100_070],
        [None, None, None, None, 0, 10**5, 10**6 + 6000, 10**6 + 7000],
        broker=2,
    )
    assert sizes(steady, copy).size[0] == pytest.approx(100.0)


def test_offsets_that_a_client_asked_for_a_little_later() -> None:
    held = series(Series.LOG_SIZE, line(0, 6000, 6), partition=0, step=MINUTE)
    ends = series(
        Series.LOG_END_OFFSET,
        line(10, 60, 6),
        broker=NONE,
        partition=0,
        step=MINUTE,
        start=START + 10_000,
    )
    starts = series(Series.LOG_START_OFFSET, [0] * 6, broker=NONE, partition=0, step=MINUTE)
    assert sizes(held, ends, starts).size[0] == pytest.approx(100.0)


def test_a_log_that_does_not_grow_tells_nothing() -> None:
    found = sizes(log(0, [5] * 4, [500] * 4))
    assert np.isnan(found.size[0])


def test_without_start_offsets_falls_are_deletions() -> None:
    rows = [
        row
        for row in log(0, line(0, 10, 7), [0, 1000, 2000, 500, 1500, 2500, 3500])
        if row.series is not Series.LOG_START_OFFSET
    ]
    found = sizes(rows)
    assert not found.compacted[0]
    assert found.size[0] == pytest.approx(100.0)
