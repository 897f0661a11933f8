"""Attribution of one topic: rules, marks, sums, and the traps of real metrics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.metrics.attribution import Leadership, Rule, attribute_topic
from kedge.metrics.measurement import NONE, Measurement, Series
from tests.metrics.attribution.tables import (
    MINUTE,
    START,
    TOPIC,
    by_interval,
    line,
    log,
    series,
    sums,
    table,
    up,
)

N = 9  # samples at 15 s: two minutes


def two_partitions() -> list[Measurement]:
    """10 records of 100 bytes and 30 of 50 bytes in 15 s."""
    return [*log(0, line(0, 10, N), line(0, 1000, N)), *log(1, line(0, 30, N), line(0, 1500, N))]


def marks(rows: list[Measurement], column: str, leaders: Leadership | None = None) -> set[str]:
    return set(attribute_topic(table(rows), leaders).partitions[column].to_pylist())


def test_the_topics_bytes_are_split_by_offsets_and_bytes_per_record() -> None:
    # the counter says 3 % more than the logs: it is right
    rows = [*up([1] * N), *two_partitions(), *series(Series.BYTES_IN, line(7, 2575, N))]
    found = attribute_topic(table(rows))
    assert sums(found, "bytes_in") == pytest.approx({0: 8240.0, 1: 12360.0})
    assert marks(rows, "in_by") == {Rule.OFFSETS}
    assert by_interval(found, "start_ms") == [START, START + MINUTE]
    assert by_interval(found, "in_covered_ms") == [MINUTE, MINUTE]


def test_without_byte_counters_the_weights_are_the_bytes() -> None:
    found = attribute_topic(table(two_partitions()))
    assert sums(found, "bytes_in") == pytest.approx({0: 8000.0, 1: 12000.0})
    assert {row.in_by for row in found.rows()} == {Rule.OFFSETS}


def of_kminion(sizes: list[float], starts: list[float]) -> list[Measurement]:
    """Water marks and lags of two partitions, and the size of the topic with three replicas."""
    rows = [*series(Series.TOPIC_SIZE, sizes, broker=NONE)]
    rows += series(Series.REPLICATION_FACTOR, [3] * N, broker=NONE)
    for partition, slope in ((0, 10), (1, 30)):
        ends, lags = line(1000, slope, N), [5.0] * N
        rows += series(Series.LOG_END_OFFSET, ends, broker=NONE, partition=partition)
        rows += series(Series.LOG_START_OFFSET, starts, broker=NONE, partition=partition)
        rows += series(Series.GROUP_LAG, lags, broker=NONE, partition=partition, group="g")
    return rows


@pytest.mark.parametrize(
    ("sizes", "starts"),
    [
        (line(600_000, 3 * 40 * 100, N), [0.0] * N),  # by growth: 100 bytes per record
        (line(600_000, 3 * 38 * 100, N), line(0, 1, N)),  # deleted all the time: by size
    ],
)
def test_offsets_and_the_size_of_the_topic_are_enough(
    sizes: list[float], starts: list[float]
) -> None:
    found = attribute_topic(table(of_kminion(sizes, starts)))
    assert sums(found, "bytes_in") == pytest.approx({0: 8000.0, 1: 24000.0})
    assert sums(found, "bytes_out") == pytest.approx({0: 8000.0, 1: 24000.0})
    assert {row.in_by for row in found.rows()} == {Rule.OFFSETS}
    assert {row.out_by for row in found.rows()} == {Rule.COMMITS}
    assert found.partitions["in_uncertain"].to_pylist() == [True] * 4


def test_without_offsets_by_growth_of_logs() -> None:
    rows = [row for row in two_partitions() if row.series is Series.LOG_SIZE]
    rows += series(Series.BYTES_IN, line(0, 2500, N))
    assert sums(attribute_topic(table(rows)), "bytes_in") == pytest.approx({0: 8000.0, 1: 12000.0})
    assert marks(rows, "in_by") == {Rule.GROWTH}


def test_with_nothing_but_leaders_evenly_over_what_a_broker_leads() -> None:
    rows = [
        *series(Series.BYTES_IN, line(0, 100, N)),
        *series(Series.BYTES_IN, line(0, 60, N), broker=2),
    ]
    leaders = Leadership.of([(0, START, 1), (1, START, 2), (2, START, 2)])
    found = attribute_topic(table(rows), leaders)
    assert sums(found, "bytes_in") == pytest.approx({0: 800.0, 1: 240.0, 2: 240.0})
    assert marks(rows, "in_by", leaders) == {Rule.EVEN}
    assert by_interval(found, "in_uncertain", 1) == [True, True]


def test_a_topic_that_is_not_written_has_no_bytes_though_it_has_no_byte_series() -> None:
    rows = [*up([1] * N), *log(0, [5] * N, [500] * N)]
    found = attribute_topic(table(rows))
    assert (sums(found, "bytes_in"), sums(found, "bytes_out")) == ({0: 0.0}, {0: 0.0})


def test_a_topic_that_nobody_reads_has_no_bytes_out_though_it_has_no_such_series() -> None:
    rows = [*up([1] * N), *two_partitions(), *series(Series.BYTES_IN, line(0, 2500, N))]
    assert sums(attribute_topic(table(rows)), "bytes_out") == {0: 0.0, 1: 0.0}


def test_the_series_of_all_topics_is_not_counted() -> None:
    rows = [*up([1] * N), *two_partitions(), *series(Series.BYTES_IN, line(0, 2500, N))]
    rows += series(Series.BYTES_IN, line(0, 10**6, N), topic="")
    assert sum(sums(attribute_topic(table(rows)), "bytes_in").values()) == pytest.approx(20_000)


def test_a_moved_leader_makes_no_spike() -> None:
    """Partition 0 moves from broker 1 to broker 2; counters follow at other moments."""
    log_0 = [
        *log(0, line(0, 10, N), line(0, 1000, N)),
        *log(0, line(0, 10, N), line(0, 1000, N), broker=2),
    ]
    first = [0, 1000, 2000, 3000, None, None, None, None, None]
    second = [None, None, None, None, 900, 1900, 2900, 3900, 4900]
    rows = [*up([1] * N), *up([1] * N, broker=2), *log_0]
    rows += [*series(Series.BYTES_IN, first), *series(Series.BYTES_IN, second, broker=2)]
    assert by_interval(attribute_topic(table(rows)), "bytes_in") == pytest.approx([3900, 4000])


def test_a_reassigned_partition_makes_no_spike() -> None:
    """A new replica copies a million records while ten are appended."""
    old = log(0, line(10**6, 10, N), line(10**8, 1000, N))
    copying = [None, None, None, 0, 4 * 10**5, 10**6 + 50, *line(10**6 + 60, 10, 3)]
    held = [None if end is None else end * 100 for end in copying]
    rows = [*up([1] * N), *up([1] * N, broker=2), *old, *log(0, copying, held, broker=2)]
    found = attribute_topic(table(rows))
    assert by_interval(found, "bytes_in") == pytest.approx([4000, 4000], rel=0.01)


def test_bytes_led_by_a_broker_that_nobody_scrapes_come_from_offsets_alone() -> None:
    """Broker 9 leads partition 1; broker 1 follows it and counts only what it leads."""
    rows = [*up([1] * N), *two_partitions(), *series(Series.BYTES_IN, line(0, 1010, N))]
    leaders = Leadership.of([(0, START, 1), (1, START, 9)])
    found = attribute_topic(table(rows), leaders)
    assert sums(found, "bytes_in") == pytest.approx({0: 8080.0, 1: 12_000.0})


def test_a_topic_made_anew_goes_on() -> None:
    ends = [*line(10_000, 10, 5), *line(10, 10, 24)]
    found = attribute_topic(table(log(0, ends, [end * 100 for end in ends])))
    assert sum(by_interval(found, "bytes_in")) == pytest.approx(27 * 1000, rel=0.05)


def commits(partition: int, values: list[float], group: str = "billing") -> list[Measurement]:
    return series(Series.COMMITTED_OFFSET, values, broker=NONE, partition=partition, group=group)


def test_bytes_out_by_committed_offsets_scaled_to_what_was_measured() -> None:
    rows = [*up([1] * N), *two_partitions(), *series(Series.BYTES_IN, line(0, 2500, N))]
    rows += [*commits(0, line(0, 10, N)), *commits(1, [4] * N)]
    rows += series(Series.BYTES_OUT, line(0, 1050, N))
    found = attribute_topic(table(rows))
    assert sums(found, "bytes_out") == pytest.approx({0: 8400.0, 1: 0.0})
    assert marks(rows, "out_by") == {Rule.COMMITS}


def test_bytes_out_that_no_group_explains_go_by_bytes_in() -> None:
    """One reader commits and reads partition 0; another reads both and never commits."""
    rows = [*up([1] * N), *two_partitions(), *series(Series.BYTES_IN, line(0, 2500, N))]
    rows += [*commits(0, line(0, 10, N)), *series(Series.BYTES_OUT, line(0, 3500, N))]
    found = attribute_topic(table(rows))
    assert sums(found, "bytes_out") == pytest.approx({0: 16_000.0, 1: 12_000.0})
    assert by_interval(found, "out_by", 1) == [Rule.BYTES_IN] * 2


def test_a_rest_too_small_for_a_reader_that_keeps_up_is_divided() -> None:
    """15 % more leave than a group reads: 240 that it fetched twice, 240 by bytes in (2 to 3)."""
    rows = [*up([1] * N), *two_partitions(), *series(Series.BYTES_IN, line(0, 2500, N))]
    rows += [*commits(0, line(0, 4, N)), *series(Series.BYTES_OUT, line(0, 460, N))]
    found = sums(attribute_topic(table(rows)), "bytes_out")
    assert found == pytest.approx({0: 3200 + 240 + 96, 1: 144})


def test_without_commits_bytes_out_go_by_bytes_in() -> None:
    rows = [*up([1] * N), *two_partitions(), *series(Series.BYTES_IN, line(0, 2500, N))]
    rows += series(Series.BYTES_OUT, line(0, 5000, N))
    assert sums(attribute_topic(table(rows)), "bytes_out") == pytest.approx({0: 16_000, 1: 24_000})
    assert marks(rows, "out_by") == {Rule.BYTES_IN}


def test_reads_from_followers_are_split_over_the_topic() -> None:
    """Broker 2 leads nothing and serves everything."""
    rows = [*up([1] * N), *up([1] * N, broker=2), *two_partitions()]
    rows += series(Series.BYTES_IN, line(0, 2500, N))
    rows += series(Series.BYTES_OUT, line(0, 2500, N), broker=2)
    leaders = Leadership.of([(0, START, 1), (1, START, 1)])
    found = attribute_topic(table(rows), leaders)
    assert sums(found, "bytes_out") == pytest.approx({0: 8000.0, 1: 12_000.0})


def test_lags_stand_for_committed_offsets() -> None:
    lags = series(Series.GROUP_LAG, line(0, 6, N), broker=NONE, partition=0, group="billing")
    found = attribute_topic(table([*two_partitions(), *lags]))
    assert sums(found, "bytes_out") == pytest.approx({0: 3200.0, 1: 0.0})


def test_without_counters_bytes_out_are_what_groups_read() -> None:
    rows = [*two_partitions(), *commits(0, line(0, 10, N)), *commits(0, line(0, 5, N), "search")]
    found = attribute_topic(table(rows))
    assert sums(found, "bytes_out") == pytest.approx({0: 12_000.0, 1: 0.0})


def test_a_compacted_topic_sampled_too_rarely_has_the_topics_mean_record() -> None:
    """Every interval was cleaned in part: the logs grew by a tenth of what was appended."""
    held = [1000, 1300, 1100, 1400, 1200, 1500, 1300, 1600, 1400]
    rows = [*up([1] * N), *log(0, line(0, 30, N), held), *log(1, line(0, 10, N), held[::-1])]
    rows += series(Series.BYTES_IN, line(0, 4000, N))
    assert sums(attribute_topic(table(rows)), "bytes_in") == pytest.approx({0: 24_000, 1: 8000})


def test_replicas_leaders_and_sizes() -> None:
    rows = [
        *log(0, line(0, 10, N), line(0, 1000, N)),
        *log(0, line(0, 10, N), line(5, 1000, N), broker=2),
    ]
    rows += series(Series.REPLICAS, [3, 3, 3, 3, 3, 0, 0, 0, 0], partition=0)
    rows += series(Series.REPLICAS, [0, 0, 0, 0, 0, 3, 3, 3, 3], partition=0, broker=2)
    rows += series(Series.IN_SYNC_REPLICAS, [2] * N, partition=0)
    found = attribute_topic(table(rows))
    assert by_interval(found, "leader") == [1, 2]
    assert by_interval(found, "replicas") == [3, 3]
    assert by_interval(found, "in_sync_replicas") == [2, 2]
    assert found.replicas.to_pylist() == [
        {
            "partition": 0,
            "broker": broker,
            "end_ms": START + at * MINUTE,
            "size_bytes": size,
            "is_leader": broker == at,
        }
        for broker, at, size in ((1, 1, 4000.0), (1, 2, 8000.0), (2, 1, 4005.0), (2, 2, 8005.0))
    ]


def measured_leaders() -> list[Measurement]:
    """Broker 1 leads the partition in the first interval, broker 2 in the second."""
    rows = [
        *log(0, line(0, 10, N), line(0, 1000, N)),
        *log(0, line(0, 10, N), line(0, 1000, N), broker=2),
    ]
    rows += series(Series.REPLICAS, [3, 3, 3, 3, 3, 0, 0, 0, 0], partition=0)
    return rows + series(Series.REPLICAS, [0, 0, 0, 0, 0, 3, 3, 3, 3], partition=0, broker=2)


def test_before_its_first_change_a_history_says_less_than_the_measurements() -> None:
    later = Leadership.of([(0, START + 2 * MINUTE - 1, 3)])
    found = attribute_topic(table(measured_leaders()), later)
    assert by_interval(found, "leader") == [1, 3]
    earlier = Leadership.of([(0, START, 3)])
    found = attribute_topic(table(measured_leaders()), earlier)
    assert by_interval(found, "leader") == [3, 3]


@pytest.mark.parametrize("at", [START - 9 * MINUTE, START + MINUTE, START + 9 * MINUTE])
def test_leaders_of_one_moment_are_no_leaders_of_measured_times(at: int) -> None:
    """A live cluster tells its leaders of now, and metrics tell of the days before."""
    now = Leadership.of([(0, at, 3), (1, at, 2)])
    rows = measured_leaders()
    found = attribute_topic(table(rows), observed=now)
    assert by_interval(found, "leader") == [1, 2]
    assert by_interval(found, "leader", 1) == [2, 2]  # of which nothing is measured
    unmeasured = [row for row in rows if row.series is not Series.REPLICAS]
    found = attribute_topic(table(unmeasured), observed=now)
    assert by_interval(found, "leader") == [3, 3]


def test_partial_intervals_have_the_time_that_was_measured() -> None:
    rows = [row for row in two_partitions() if START + 20_000 < row.ts_ms < START + 100_000]
    found = attribute_topic(table(rows))
    assert by_interval(found, "bytes_in") == pytest.approx([2000.0, 2000.0])
    assert by_interval(found, "in_covered_ms") == [30_000.0, 30_000.0]


def test_nothing_gives_nothing() -> None:
    found = attribute_topic(table(up([1] * 3)))
    assert (found.topic, found.partitions.num_rows, found.replicas.num_rows) == ("", 0, 0)


def test_two_topics_are_refused() -> None:
    rows = [*two_partitions(), *series(Series.BYTES_IN, [1, 2], topic="other")]
    with pytest.raises(ValueError, match=f"{TOPIC}.*other"):
        attribute_topic(table(rows))


VALUES = st.lists(st.one_of(st.none(), st.integers(0, 10**6)), min_size=3, max_size=12)


@given(
    st.lists(VALUES, min_size=1, max_size=3),
    st.lists(VALUES, max_size=3),
    st.lists(VALUES, max_size=2),
    st.lists(VALUES, max_size=2),
    st.booleans(),
)
def test_whatever_was_measured_sums_are_kept_and_nothing_is_negative(
    ins: list[list[float | None]],
    ends: list[list[float | None]],
    outs: list[list[float | None]],
    read: list[list[float | None]],
    rated: bool,
) -> None:
    rows = log(7, [5] * 3, [5] * 3)
    for broker, values in enumerate(ins, start=1):
        name = Series.BYTES_IN_RATE if rated else Series.BYTES_IN
        rows += [*up([1] * 12, broker=broker), *series(name, values, broker=broker)]
    for partition, values in enumerate(ends):
        rows += log(partition, values, values[::-1], broker=1 + partition % 2)
    for broker, values in enumerate(outs, start=1):
        rows += series(Series.BYTES_OUT, values, broker=broker)
    for partition, values in enumerate(read):
        rows += series(Series.COMMITTED_OFFSET, values, broker=NONE, partition=partition, group="g")
    whole = attribute_topic(table(rows), None, 10**9)  # all in one interval: the total
    fine = attribute_topic(table(rows))
    for column in ("bytes_in", "bytes_out"):
        amounts = fine.partitions[column].to_numpy()
        assert np.isfinite(amounts).all()
        assert (amounts >= 0).all()
        measured = any(row.series.value.startswith(column) for row in rows)
        if measured:
            total = whole.partitions[column].to_numpy().sum()
            assert amounts.sum() == pytest.approx(total, rel=1e-9, abs=1e-6)
