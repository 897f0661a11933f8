"""Runs that are steered while they run, on real brokers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jvm import KAFKA_3_9, KAFKA_4_1
from kedge.errors import RequestTimedOut
from kedge.model import BrokerId, TopicPartition
from tests.real import clusters
from tests.real.four_brokers import KILLABLE, FourBrokers
from tests.real.kedge_cluster import until
from tests.real.operator import Entry, Operator

pytestmark = pytest.mark.real

TOPIC = "steered"
T0 = TopicPartition(TOPIC, 0)
B3, B4 = BrokerId(3), BrokerId(KILLABLE)
BYTES = 120_000_000


@pytest.fixture(params=[KAFKA_4_1, pytest.param(KAFKA_3_9, marks=pytest.mark.slow)])
def operator(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Operator]:
    operator = Operator(clusters.four(request.config, request.param), tmp_path)
    yield operator
    operator.close()


def arrived(operator: Operator, broker: BrokerId) -> int:
    """The bytes of the partition on a broker."""
    answer = operator.admin.log_dirs([broker], [TOPIC])[broker]
    assert isinstance(answer, tuple), answer
    return sum(stored.size_bytes for each in answer for stored in each.replicas)


class Measured:
    """Bytes per second that arrive on broker 3."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._before, self._began = arrived(operator, B3), time.monotonic()

    def rate_after(self, seconds: float) -> float:
        """The average since the beginning, once that many seconds are over."""
        time.sleep(max(0.0, self._began + seconds - time.monotonic()))
        return (arrived(self._operator, B3) - self._before) / (time.monotonic() - self._began)


def test_another_rate_is_measured_within_ten_seconds(operator: Operator) -> None:
    operator.create(TOPIC, {0: (1, 2)})
    process = None
    try:
        operator.fill(TOPIC, [0], BYTES)
        plan = str(operator.plan_file({T0: Entry((3, 2))}))
        process = operator.start("apply", plan, "--throttle", "1MB", "--interval", "0.2")
        until(lambda: arrived(operator, B3) > 3_000_000, 60.0)
        slow = Measured(operator).rate_after(5.0)
        with ThreadPoolExecutor(1) as measuring:  # the command takes longer
            ten_seconds = measuring.submit(Measured(operator).rate_after, 10.0)
            changed = operator.run("throttle", "--rate", "4MB")
            fast = ten_seconds.result()
        if fast < 2 * slow:  # the process of the command was late; it has returned now
            fast = Measured(operator).rate_after(10.0)
        assert (changed["at_work"], changed["unconfirmed"], changed["refused"]) == (True, [], "")
        assert fast >= 2 * slow, (slow, fast)
        print(f"measured {slow:.0f} bytes/s at 1 MB/s, {fast:.0f} bytes/s at 4 MB/s")
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err + out
        assert operator.replicas([TOPIC]) == {T0: (3, 2)}
        operator.assert_no_throttles()
    finally:
        if process is not None and process.returncode is None:
            process.kill()
            process.communicate()
            operator.attempt("cancel")
        operator.delete(TOPIC)


@pytest.mark.slow
def test_a_run_is_paused_continued_and_rolled_back(operator: Operator) -> None:
    second = TopicPartition(TOPIC, 1)
    before, after = {T0: (1, 2), second: (1, 2)}, {T0: (3, 2), second: (3, 2)}
    operator.create(TOPIC, {0: (1, 2), 1: (1, 2)})
    process = None
    try:
        operator.fill(TOPIC, [0, 1], 12_000_000)  # a first move of 14 s: time to pause in
        plan = str(operator.plan_file({tp: Entry(ids) for tp, ids in after.items()}))
        pace = ("--throttle", "800kB", "--moves-per-broker", "1", "--interval", "0.2")
        process = operator.start("apply", plan, *pace)
        until(lambda: bool(operator.admin.reassignments()), 60.0)
        (first,) = operator.admin.reassignments()
        assert operator.run("pause")["at_work"] is True
        until(lambda: operator.run("status")["state"] == "paused", 60.0)
        assert operator.admin.reassignments() == {}
        assert operator.replicas([TOPIC]) == before | {first: after[first]}
        operator.assert_no_throttles()
        assert operator.run("continue")["at_work"] is True
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err + out
        assert operator.replicas([TOPIC]) == after
        operator.assert_no_throttles()
        assert operator.run("rollback", "--no-throttle")["complete"] is True
        assert operator.replicas([TOPIC]) == before
    finally:
        if process is not None and process.returncode is None:
            process.kill()
            process.communicate()
            operator.attempt("cancel")
        operator.delete(TOPIC)


def is_stopped(process: int) -> bool:
    """Whether every thread of a process has stopped; it takes a moment on a busy machine."""
    states = [each.read_text() for each in Path(f"/proc/{process}/task").glob("*/status")]
    return all("State:\tT" in state for state in states)


def test_a_broker_that_stands_still_does_not_answer_the_probe(operator: Operator) -> None:
    before = operator.admin.round_trips([B3, B4], 2000)
    assert all(isinstance(each, float) and each < 2.0 for each in before.values()), before
    assert isinstance(operator.cluster, FourBrokers)
    process = operator.cluster.killable_pid
    os.kill(process, signal.SIGSTOP)
    until(lambda: is_stopped(process), 10.0)
    try:
        began = time.monotonic()
        during = operator.admin.round_trips([B3, B4], 500)
        took = time.monotonic() - began
    finally:
        os.kill(process, signal.SIGCONT)
    assert isinstance(during[B3], float)
    assert isinstance(during[B4], RequestTimedOut), during
    assert took < 2.0
    until(lambda: isinstance(operator.admin.round_trips([B4], 2000)[B4], float), 20.0)
