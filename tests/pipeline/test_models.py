"""Load models on Arrow tables: against plain Python, and split into days in any way."""

from __future__ import annotations

import math
from datetime import timedelta
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.pipeline.jobs.model_runner import closed_history, open_model
from kedge.pipeline.models import courses
from kedge.pipeline.models.disk_use import broker_disk_use
from kedge.pipeline.models.history import (
    HALF_LIFE_S,
    History,
    add_days,
    from_table,
    no_history,
    to_table,
    with_hourly_sizes,
    with_narrow_bands,
)
from kedge.pipeline.models.load_models import PARTITIONS, has_all_percentiles, partition_load
from kedge.pipeline.models.ragged_series import median as median_by_key
from kedge.pipeline.models.ragged_series import offsets_of, slopes_per_day
from kedge.pipeline.models.value_bands import no_values
from tests.pipeline.drawn_courses import START, course


def samples_of(windows: pa.Table, factor: int = 30) -> pa.Table:
    """Some values for each window."""
    dice = np.random.default_rng(5)
    order = np.repeat(np.arange(len(windows)), 3)
    picked = windows.select(["cluster", "topic", "partition"]).take(pa.array(order))
    base = np.repeat(np.asarray(windows.column("bytes_in")), 3) % 9973
    for name in ("bytes_in", "bytes_out"):
        picked = picked.append_column(name, pa.array(base + dice.integers(0, factor, len(base))))
    return picked


def whole_model(windows: pa.Table, values: pa.Table) -> pa.Table:
    return partition_load(add_days(no_history(PARTITIONS, windows), PARTITIONS, windows, values))


def test_the_model_of_a_partition_equals_that_of_plain_python() -> None:
    windows = course(2, [0, 1, 2, 3])
    values = samples_of(windows)
    for row in whole_model(windows, values).to_pylist():
        points = [one for one in windows.to_pylist() if one["partition"] == row["partition"]]
        ins = sorted(
            one["bytes_in"] for one in values.to_pylist() if one["partition"] == row["partition"]
        )
        assert (row["n"], row["sum"], row["max"]) == (len(ins), sum(ins), ins[-1])
        assert row["p50"] == ins[math.ceil(0.5 * len(ins)) - 1]
        assert row["p95"] == ins[math.ceil(0.95 * len(ins)) - 1]
        assert row["windows"] == len(points)
        assert row["isr_windows"] == sum(one["min_isr"] < 3 for one in points)
        assert row["last_size"] == points[-1]["size"]
        assert row["ewma"] == pytest.approx(_ewma(points))
        assert row["growth_bytes_per_day"] == round(median(_slopes(points)))
        assert row["day_pattern"][3] == pytest.approx(_hour_of_day(points, 3))
        assert row["day_pattern"][0] == pytest.approx(_hour_of_day(points, 0))
        assert row["week_pattern"][5:] == [None, None]


def _ewma(points: list[dict[str, Any]]) -> float:
    mean, last = math.nan, 0.0
    for one in points:
        if one["samples"]:
            value, now = one["bytes_in"] / one["samples"], one["window_start"].timestamp()
            weight = 0.0 if math.isnan(mean) else 2 ** (-(now - last) / HALF_LIFE_S)
            mean, last = value + ((0 if math.isnan(mean) else mean) - value) * weight, now
    return mean


def _slopes(points: list[dict[str, Any]]) -> list[float]:
    half = len(points) // 2
    pairs = zip(points, points[half:], strict=False)
    return [
        (b["size"] - a["size"]) / (b["window_start"] - a["window_start"]).total_seconds() * 86_400
        for a, b in pairs
    ]


def _hour_of_day(points: list[dict[str, Any]], hour: int) -> float:
    def mean(some: list[dict[str, Any]]) -> float:
        return sum(one["bytes_in"] for one in some) / sum(one["samples"] for one in some)

    return mean([one for one in points if one["window_start"].hour == hour]) / mean(points)


@given(st.integers(0, 1000), st.lists(st.integers(1, 3), min_size=1, max_size=4))
@settings(max_examples=20, deadline=None)
def test_days_that_are_closed_one_after_the_other_give_the_model_of_all(
    seed: int, chunks: list[int]
) -> None:
    days = list(range(sum(chunks) + 2))
    history: History | None = None
    for chunk in chunks:
        windows = course(3, days[:chunk], seed)
        del days[:chunk]
        before = no_history(PARTITIONS, windows) if history is None else history
        grown = add_days(before, PARTITIONS, windows, samples_of(windows))
        stored = to_table(with_narrow_bands(with_hourly_sizes(grown)))
        history = from_table(stored, PARTITIONS)
    assert history is not None
    last, every = course(3, days, seed), course(3, range(sum(chunks)), seed)
    found = partition_load(add_days(history, PARTITIONS, last, samples_of(last)))
    all_closed = no_history(PARTITIONS, every)
    closed_values = pa.concat_tables(
        [
            samples_of(course(3, range(start, start + chunk), seed))
            for start, chunk in zip(np.cumsum([0, *chunks[:-1]]).tolist(), chunks, strict=True)
        ]
    )
    at_once = with_hourly_sizes(add_days(all_closed, PARTITIONS, every, closed_values))
    wanted = partition_load(add_days(at_once, PARTITIONS, last, samples_of(last)))
    assert found.equals(wanted)


@given(
    st.lists(
        st.lists(st.integers(-50, 50) | st.integers(-(10**12), 10**12), max_size=60),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 8),
)
@settings(max_examples=150, deadline=None)
def test_a_band_that_has_a_percentile_has_the_exact_one(
    batches: list[list[int]], width: int
) -> None:
    bands, every = no_values(2), list[int]()
    for batch in batches:
        bands = bands.add(np.ones(len(batch), np.int64), np.array(batch, np.int64))
        every = sorted([*every, *batch])
        for share in (0.5, 0.95):
            value, known = bands.at(share)
            if every and known[1]:
                assert value[1] == every[math.ceil(share * len(every)) - 1]
            assert not (known[0] and bands.count[0])
        assert (bands.count[1], bands.total[1]) == (len(every), sum(every))
        bands = bands.trimmed(width)
        for share in (0.5, 0.95):
            value, known = bands.at(share)
            if every and len(batches) == 1:
                assert known[1], "a band is cut around its percentile"


def test_one_wild_point_does_not_change_the_slope() -> None:
    t = np.arange(10) * 3600
    values = np.arange(10, dtype=np.float64) * 2 + 10
    values[4] += 50
    rises = slopes_per_day(offsets_of(np.zeros(10, np.int64), 1), t, values)
    assert median_by_key(*rises) == pytest.approx([2 * 24])


def test_a_percentile_outside_its_band_is_unknown_and_not_wrong() -> None:
    bands = no_values(1).add(np.zeros(100, np.int64), np.arange(100)).trimmed(5)
    bands = bands.add(np.zeros(28, np.int64), np.arange(60, 88))
    assert not bands.at(0.5)[1][0]
    table = pa.table({"max": [1], **{n: [1] for n in ("p95", "out_p50", "out_p95")}})
    missing = table.append_column("p50", pa.array([None], pa.int64()))
    assert not has_all_percentiles(missing)
    assert has_all_percentiles(table.append_column("p50", pa.array([1])))


def test_a_course_takes_the_newest_size_of_the_replicas_and_the_leader_s_bytes() -> None:
    ends = [START + timedelta(seconds=seconds) for seconds in (240, 180)]
    rollup = pa.table(
        {
            "cluster": ["c", "c"],
            "broker": pa.array([2, 1], pa.int32()),
            "topic": ["t", "t"],
            "partition": pa.array([0, 0], pa.int32()),
            "window_start": pa.array([START, START], pa.timestamp("us", tz="UTC")),
            "rows": [5, 4],
            "bytes_in": [50, 40],
            "bytes_out": [5, 4],
            "leader_rows": [0, 4],
            "leader_bytes_in": [0, 40],
            "leader_bytes_out": [0, 4],
            "last_ts": pa.array(ends, pa.timestamp("us", tz="UTC")),
            "last_size": [700, 900],
            "max_size_bytes": [701, 901],
            "min_isr": pa.array([1, 2], pa.int32()),
            "max_isr": pa.array([3, 3], pa.int32()),
        }
    )
    (partition,) = courses.partition_course(rollup).to_pylist()
    assert [partition[n] for n in ("bytes_in", "bytes_out", "samples", "size")] == [40, 4, 4, 700]
    assert (partition["min_isr"], partition["max_isr"]) == (1, 3)
    brokers = courses.broker_course(rollup)
    assert [(row["broker"], row["samples"], row["size"]) for row in brokers.to_pylist()] == [
        *((1, 4, 900), (2, 5, 700)),
    ]
    (cluster,) = courses.window_load(brokers).to_pylist()
    assert [cluster[name] for name in ("rows", "bytes_in", "bytes_out")] == [9, 90, 9]


def test_a_disk_of_unknown_size_has_no_day_on_which_it_is_full() -> None:
    partitions = pa.table(
        {
            "cluster": ["c"],
            "topic": ["t"],
            "partition": pa.array([0], pa.int32()),
            "last_size": [600],
            "growth_bytes_per_day": [100],
            "growth_low": [60],
            "growth_high": [140],
        }
    )
    replicas = pa.table(
        {
            "cluster": ["c", "c"],
            "topic": ["t", "t"],
            "partition": pa.array([0, 0], pa.int32()),
            "broker": pa.array([1, 2], pa.int32()),
        }
    )
    brokers = pa.table(
        {
            "cluster": ["c", "c"],
            "broker": pa.array([1, 2], pa.int32()),
            "disk_capacity_bytes": pa.array([1000, None], pa.int64()),
        }
    )
    known, unknown = broker_disk_use(partitions, replicas=replicas, brokers=brokers).to_pylist()
    assert [known[f"days_to_full{end}"] for end in ("", "_low", "_high")] == [
        4.0,
        400 / 140,
        400 / 60,
    ]
    assert (unknown["used_bytes"], unknown["days_to_full"]) == (600, None)


def test_a_part_of_the_keys_gives_their_rows_and_none_gives_none() -> None:
    closed, last = course(3, [0, 1, 2, 3]), course(3, [4, 5])
    values = {"closed": samples_of(closed), "open": samples_of(last)}
    nothing = {"closed": closed.slice(0, 0), "open": last.slice(0, 0)}
    history = closed_history({**nothing, "closed": closed, "samples": values["closed"]})
    of_history = open_model(
        {**nothing, "open": last, "samples": values["open"], "history": history}
    )
    both = pa.concat_tables(values.values())
    of_all_days = open_model({"closed": closed, "open": last, "samples": both})
    assert of_history.equals(of_all_days)
    empty = open_model({**nothing, "samples": both.slice(0, 0), "history": history.slice(0, 0)})
    assert empty.schema == of_all_days.schema
    assert not len(empty)
