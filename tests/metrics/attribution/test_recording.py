"""Attribution of real metrics against the truth that was recorded beside them.

The recording is of a Kafka cluster of three brokers over fifteen minutes: a leader is moved, a
partition reassigned, a broker restarted and all preferred leaders elected.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kedge.metrics.attribution import Attributed, Rule
from kedge.metrics.attribution.brokers import broker_traffic
from kedge.metrics.attribution.counters import counter_steps
from kedge.metrics.attribution.cpu import fit_cpu
from kedge.metrics.attribution.samples import read_samples
from kedge.metrics.measurement import Series
from kedge.metrics.origins import choose_origins
from kedge.model.arrow import compute
from tests.metrics.attribution import recordings
from tests.metrics.attribution.recordings import Errors, Recording, errors, of_topic, rates

pc = compute()
RECORDING = Recording(Path(__file__).parents[1] / "data" / "recording")
WINDOWS = {"all": (0, 900), "quiet": (0, 300)}


@cache
def source(name: str) -> pa.Table:
    read: dict[str, Callable[[Recording], pa.Table]] = {
        "prometheus": recordings.prometheus,
        "scrape": recordings.scrape,
        "admin": recordings.admin,
        "cruise-control": recordings.cruise_control,
    }
    return read[name](RECORDING)


def with_groups(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, recordings.commits(source("admin"))])


@cache
def attributed(name: str) -> dict[str, Attributed]:
    table = source(name)
    if name in ("prometheus", "scrape"):
        table = with_groups(table)
    return recordings.attribute(RECORDING, table, leaders=name == "cruise-control")


def judged(found: dict[str, Attributed], window: str, which: str) -> Errors:
    start, end = (RECORDING.t0 + second for second in WINDOWS[window])
    truth = RECORDING.truth(start, end)
    return errors(rates(found, start, end), truth, ("in", "out").index(which))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", ["prometheus", "scrape"])
def test_bytes_in_of_counters(name: str, window: str) -> None:
    found = judged(attributed(name), window, "in")
    assert found.median <= 0.008, found
    assert found.p90 <= 0.02, found
    assert found.worst <= 0.035, found


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", ["prometheus", "scrape"])
def test_bytes_out_of_counters_and_groups(name: str, window: str) -> None:
    found = judged(attributed(name), window, "out")
    assert found.median <= 0.01, found
    assert found.p90 <= 0.035, found
    assert found.worst <= 0.22, found  # a slow reader fetches up to 28 % more than it reads


@pytest.mark.parametrize("window", WINDOWS)
def test_bytes_in_of_cruise_controls_topic(window: str) -> None:
    found = judged(attributed("cruise-control"), window, "in")
    assert found.median <= 0.015, found
    assert found.of_total <= 0.04, found


@pytest.mark.parametrize("window", WINDOWS)
def test_bytes_in_of_admin_calls_alone(window: str) -> None:
    found = judged(attributed("admin"), window, "in")
    assert found.median <= 0.005, found
    assert found.of_total <= 0.02, found


@pytest.mark.parametrize("name", ["prometheus", "scrape"])
@pytest.mark.parametrize(
    ("counter", "column"), [(Series.BYTES_IN, "bytes_in"), (Series.BYTES_OUT, "bytes_out")]
)
def test_sums_over_partitions_are_what_the_counters_say(
    name: str, counter: Series, column: str
) -> None:
    for topic, found in attributed(name).items():
        samples = read_samples(of_topic(source(name), topic))
        brokers = [int(broker) for broker in np.unique(samples[counter].broker)]
        measured = counter_steps(samples, counter, brokers).amount.sum()
        assert pc.sum(found.partitions[column]).as_py() == pytest.approx(measured, rel=1e-9)


@pytest.mark.parametrize("name", ["prometheus", "scrape", "admin", "cruise-control"])
def test_no_event_makes_a_spike(name: str) -> None:
    """No minute of any partition is far above the highest true minute."""
    fine = {
        (one["topic"], one["partition"]): np.array(one["log_in"], np.float64)
        for one in RECORDING.json("truth_15s.json.gz")["partitions"]
    }
    for topic, found in attributed(name).items():
        table = found.partitions
        partition, amount, covered = (
            table[column].to_numpy() for column in ("partition", "bytes_in", "in_covered_ms")
        )
        for one in np.unique(partition):
            rows = (partition == one) & (covered > 20_000)
            true = np.convolve(fine[topic, int(one)], np.ones(4), "valid") / 60
            highest = float((amount[rows] / covered[rows] * 1000).max())
            assert highest <= 1.4 * true.max() + 100, (topic, one)


def test_idle_and_unread_topics_have_nothing() -> None:
    for column, topic in (
        ("bytes_in", "idle-topic"),
        ("bytes_out", "idle-topic"),
        ("bytes_out", "audit"),
    ):
        assert pc.sum(attributed("prometheus")[topic].partitions[column]).as_py() == 0


def test_marks_say_how_bytes_were_found() -> None:
    def used(name: str, topic: str, column: str) -> set[str]:
        return set(attributed(name)[topic].partitions[column].to_pylist())

    assert used("prometheus", "payments", "in_by") == {Rule.OFFSETS}
    assert used("prometheus", "payments", "out_by") == {Rule.COMMITS}
    assert used("prometheus", "media-mixed", "out_by") == {Rule.COMMITS, Rule.BYTES_IN}
    assert used("admin", "payments", "in_by") == {Rule.OFFSETS}
    assert used("cruise-control", "payments", "in_by") == {Rule.GROWTH}
    assert used("cruise-control", "payments", "out_by") == {Rule.BYTES_IN}
    assert used("cruise-control", "profiles", "in_uncertain") == {True}


def test_leaders_are_seen_in_the_metrics() -> None:
    """The leader of payments-3 moves from 1 to 3, fails over to 2 and comes back."""
    table = attributed("prometheus")["payments"].partitions
    leaders = table.filter(pc.equal(table["partition"], 3))["leader"].to_pylist()
    assert list(dict.fromkeys(leaders)) == [1, 3, 2]
    assert leaders[-1] == 3


def without(table: pa.Table, *series: Series) -> pa.Table:
    return table.filter(pc.invert(pc.is_in(table["series"], pa.array([*map(str, series)]))))


def with_lost_scrapes(table: pa.Table, share: float, seed: int) -> pa.Table:
    moments = table["broker"].to_numpy().astype(np.int64) * 10**14 + table["ts_ms"].to_numpy()
    distinct, position = np.unique(moments, return_inverse=True)
    kept = np.random.default_rng(seed).random(len(distinct)) >= share
    seconds = distinct % 10**14 // 1000 - RECORDING.t0
    kept |= (seconds < 40) | (seconds > 860)  # what is lost at an edge was not measured
    return table.filter(pa.array(kept[position]))


VARIANTS: dict[str, Callable[[], pa.Table]] = {
    "a tenth of the scrapes is lost": lambda: with_lost_scrapes(source("prometheus"), 0.1, 1),
    "a fifth of the scrapes is lost": lambda: with_lost_scrapes(source("scrape"), 0.2, 2),
    "no up series": lambda: without(source("prometheus"), Series.UP),
    "no start offsets": lambda: without(source("prometheus"), Series.LOG_START_OFFSET),
    "no counts of messages": lambda: without(source("prometheus"), Series.MESSAGES_IN),
    "admin calls beside": lambda: pa.concat_tables([source("prometheus"), source("admin")]),
    "every row twice": lambda: pa.concat_tables([source("scrape"), source("scrape")]),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_other_circumstances(variant: str) -> None:
    found = recordings.attribute(RECORDING, with_groups(VARIANTS[variant]()))
    assert judged(found, "all", "in").worst <= 0.04
    assert judged(found, "all", "in").median <= 0.01
    assert judged(found, "all", "out").worst <= 0.22
    assert judged(found, "all", "out").median <= 0.015


@pytest.mark.parametrize("name", ["prometheus", "scrape"])
def test_a_stop_costs_nothing_where_neither_up_nor_leaders_tell_of_it(name: str) -> None:
    table = without(source(name), Series.UP, Series.REPLICAS)
    found = judged(recordings.attribute(RECORDING, with_groups(table)), "all", "in")
    assert found.median <= 0.008, found
    assert found.worst <= 0.02, found


def test_two_servers_that_scrape_the_same_brokers() -> None:
    """One of them is chosen: mixed, their counters would fall and rise."""

    def of_origin(name: str) -> pa.Table:
        table = with_groups(source(name))
        for column, value in (("origin", name), ("replica", "")):
            table = table.append_column(column, pa.repeat(pa.scalar(value), len(table)))
        return table

    both = pa.concat_tables([of_origin("prometheus"), of_origin("scrape")])
    found = recordings.attribute(RECORDING, both, change=lambda table: choose_origins(table)[0])
    assert judged(found, "all", "in").worst <= 0.02
    assert judged(found, "all", "in").median <= 0.008
    assert judged(found, "all", "out").worst <= 0.22


def test_one_sample_a_minute() -> None:
    """What counters gain between a sample and the stop of a broker is in no sum."""
    found = recordings.attribute(RECORDING, with_groups(recordings.prometheus(RECORDING, 60)))
    assert judged(found, "quiet", "in").worst <= 0.03
    assert judged(found, "all", "in").worst <= 0.05
    assert judged(found, "all", "in").median <= 0.02


def test_without_byte_counters() -> None:
    table = without(source("prometheus"), Series.BYTES_IN, Series.BYTES_OUT)
    found = judged(recordings.attribute(RECORDING, table), "all", "in")
    assert found.worst <= 0.02, found


def test_cruise_controls_topic_without_leaders() -> None:
    found = judged(recordings.attribute(RECORDING, source("cruise-control")), "all", "in")
    assert found.of_total <= 0.07, found


def test_traffic_of_brokers() -> None:
    table = broker_traffic(source("prometheus"))
    found = table.group_by("broker").aggregate([("replication_in", "sum"), ("bytes_in", "sum")])
    told = {row["broker"]: row for row in found.to_pylist()}
    assert sorted(told) == [1, 2, 3]
    for row in told.values():
        assert 100e6 < row["bytes_in_sum"] < row["replication_in_sum"] < 250e6
    model = fit_cpu(table)
    assert model is not None
    assert not model.good  # fifteen minutes of even load tell little
