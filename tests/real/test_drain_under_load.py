"""Drains of a real broker with more than a gigabyte, in figures: time, rates, and lost records."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bench.prediction.real_cluster import ended, measured
from jvm import KAFKA_3_9, KAFKA_4_1, memory_directory
from tests.real.drain_under_load import (
    BYTES_EACH,
    DRAINED,
    HOME,
    OTHERS,
    PARTITIONS,
    LiveReader,
    Loaded,
    loaded_cluster,
    read_again,
    watching,
)
from tests.real.drain_under_load import TOPIC as LOADED
from tests.real.identified import IdentifiedProducer, lost_and_doubled
from tests.real.kedge_cluster import until

pytestmark = [pytest.mark.real, pytest.mark.slow]

MB = 1_000_000
RATE = 8 * MB
SLOTS = ("--moves-per-broker", "6")  # the run may be late now and then without a pause
INTO_EACH = PARTITIONS * BYTES_EACH // len(OTHERS)
LOWEST = 2 * MB
STOPPED = 3


@pytest.fixture(scope="module", params=[KAFKA_4_1, KAFKA_3_9])
def loaded_once(request: pytest.FixtureRequest) -> Generator[Loaded]:
    directory = Path(tempfile.mkdtemp(prefix="kedge-loaded-", dir=memory_directory()))
    try:
        with loaded_cluster(directory, request.param) as cluster:
            yield cluster
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def loaded(loaded_once: Loaded) -> Loaded:
    loaded_once.bring_home()
    return loaded_once


@contextmanager
def job(loaded: Loaded, *words: str) -> Generator[tuple[Any, Path]]:
    """A job that is under way; it is cancelled if the test does not await its end."""
    process, events = loaded.kedge.start_job(*words)
    try:
        yield process, events
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate()
            loaded.kedge.run("cancel", "--yes")
            until(lambda: not loaded.admin.reassignments(), 60.0)


def test_a_drain_under_load_takes_its_time_keeps_its_rate_and_loses_nothing(
    loaded: Loaded,
) -> None:
    words = ("drain", str(DRAINED), "--throttle", f"{RATE}", *SLOTS)
    cluster = loaded.cluster
    reader = LiveReader(cluster.bootstrap).start()
    producer = IdentifiedProducer(cluster.bootstrap, LOADED, name="x" * 500, pause_s=0.002).start()
    with watching(loaded) as arrivals:
        found = loaded.kedge.carried_out(*words)
    predicted = found.predicted
    assert predicted is not None
    producer.stop()
    reader.stop_after(producer.acked)

    rates = {broker: arrivals.steady_rate(broker) for broker in OTHERS}
    print(
        f"{cluster.release}: {found.bytes_copied} bytes in {found.seconds:.1f} s, predicted "
        f"{predicted.p10:.1f} to {predicted.p90:.1f} s, {predicted.middle:.1f} s; into each "
        f"broker {rates}; {len(producer.acked)} records acknowledged"
    )
    assert sum(BYTES_EACH for pair in HOME if DRAINED in pair) >= 10**9
    assert all(DRAINED not in replicas for replicas in loaded.replicas().values())
    assert loaded.throttles() == []
    assert not producer.failed, producer.failed
    assert len(producer.acked) > 5_000
    lost, doubled = lost_and_doubled(producer.acked, read_again(cluster.bootstrap, reader.begins))
    assert (lost, doubled) == ([], [])
    assert {each for each, times in reader.read.items() if times > 1} == set()
    for broker, rate in rates.items():
        assert rate == pytest.approx(RATE, rel=0.15), (broker, rates)
    assert found.seconds == pytest.approx(predicted.middle, rel=0.15)
    assert predicted.p10 <= found.seconds <= predicted.p90


def test_another_rate_doubles_what_arrives_within_ten_seconds(loaded: Loaded) -> None:
    """The ten seconds after the command has returned, beside the ten seconds before it; and some
    that begin within ten seconds of the command, which takes longer.

    Kafka counts over eleven seconds: a rate that was doubled at once would be a burst, and then
    ten seconds as slow as before. It is raised in steps instead (`kedge.execution.rate_rise`), so
    what arrives doubles with the first of them. All brokers count together: each one is also held
    back by the throttles of those that it copies from, whose moves begin and end.
    """
    words = ("drain", str(DRAINED), "--throttle", f"{RATE // 2}", *SLOTS)
    with watching(loaded) as arrivals, job(loaded, *words) as (process, _):
        until(lambda: _arrived(loaded) > 20 * MB, 60.0)
        time.sleep(12.0)
        began = time.monotonic()
        changed = loaded.kedge.run("throttle", "--rate", f"{RATE}")
        returned = time.monotonic()
        assert (changed["at_work"], changed["unconfirmed"], changed["refused"]) == (True, [], "")
        time.sleep(11.0)
        ended(process)

    slow = arrivals.rate(OTHERS, began - 10.0, began)
    begins = [began, *(at for at, _ in arrivals.samples if began < at < returned), returned]
    fast = {at - began: arrivals.rate(OTHERS, at, at + 10.0) / slow for at in begins}
    most = max(arrivals.rate(OTHERS, at, at + 1.0) for at in begins) / slow
    took = returned - began
    print(
        f"{loaded.cluster.release}: {slow:.0f} bytes/s in the 10 s before the command; in the 10 s "
        f"from it on {fast[0.0]:.2f} times as much, in those after its end {fast[took]:.2f} times "
        f"({took:.1f} s later); in all that begin between {min(fast.values()):.2f} to "
        f"{max(fast.values()):.2f} times; in one second at most {most:.2f} times"
    )
    assert fast[took] >= 1.85
    assert max(times for after, times in fast.items() if after <= 10.0) >= 1.85
    assert loaded.throttles() == []


def test_a_throttle_that_adapts_is_twice_as_fast_as_its_lowest_rate(loaded: Loaded) -> None:
    words = ("drain", str(DRAINED), "--throttle", f"auto:{LOWEST}-{100 * MB}", *SLOTS)
    with watching(loaded) as arrivals:
        found = loaded.kedge.carried_out(*words)
    at_lowest = INTO_EACH / LOWEST
    throttles = found.events[-1]["summary"]["throttles"]
    print(f"{loaded.cluster.release}: {found.seconds:.1f} s, {at_lowest:.1f} s at the lowest rate")
    print([(round(each["after_s"]), each["rate"], each["why"]) for each in throttles])
    assert found.seconds <= at_lowest / 2
    assert arrivals.under_min_isr == set()
    assert loaded.throttles() == []


def test_a_throttle_that_adapts_backs_off_when_a_broker_stands_still(loaded: Loaded) -> None:
    words = ("drain", str(DRAINED), "--throttle", f"auto:{LOWEST}-{100 * MB}", *SLOTS)
    with watching(loaded) as arrivals, job(loaded, *words) as (process, events):
        until(lambda: len(_rates(loaded, events)) >= 2, 90.0)
        time.sleep(3.0)  # brokers have the new rate, and the run reads the cluster again
        stopped = loaded.cluster.pid(STOPPED)
        os.kill(stopped, signal.SIGSTOP)
        time.sleep(2.0)
        os.kill(stopped, signal.SIGCONT)
        until(lambda: _rates(loaded, events)[-1] < max(_rates(loaded, events)), 15.0)
        loaded.kedge.run("throttle", "--rate", f"{100 * MB}")
        ended(process)
    throttles = measured(events).events[-1]["summary"]["throttles"]
    print([(round(each["after_s"]), each["rate"], each["why"]) for each in throttles])
    fallen = next(b for a, b in pairwise(throttles) if b["rate"] < a["rate"])
    assert fallen["why"].startswith((f"broker {STOPPED} responds in", "reading the cluster took"))
    assert arrivals.under_min_isr == set()


def _arrived(loaded: Loaded) -> int:
    return min(sum(loaded.new_on(broker).values()) for broker in OTHERS)


def _rates(loaded: Loaded, events: Path) -> list[int]:
    """The rates that the run of these events has had since its start, in their sequence."""
    began = events.read_text().splitlines()[:1] if events.exists() else []
    if not began:
        return []
    (journal,) = loaded.kedge.state.glob(f"*/{json.loads(began[0])['run']}/journal.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    return [line["rate"] for line in lines if line.get("rate") is not None]
