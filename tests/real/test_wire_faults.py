"""Brokers and controllers that die without a word, under producers that want every record kept.

Each broker is a JVM of its own here, so that it can be killed as a machine is.
`python -m tests.real.test_wire_faults 20` kills brokers in twenty rounds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.identified import IdentifiedProducer, lost_and_doubled
from tests.real.kedge_cluster import Run, kedge_cluster, until

pytestmark = pytest.mark.real

PARTITIONS = 6


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with kedge_cluster(tmp_path_factory.mktemp("faults"), apart=True) as run:
        yield run


def kill_rounds(cluster: Run, rounds: int) -> tuple[int, list[str], list[str]]:
    """Kill brokers in turn under a producer; how many records were acknowledged, which of them
    are lost, which are there twice."""
    topic = f"kill-{time.monotonic_ns()}"
    cluster.run("topics", "--create", "--topic", topic, "--partitions", str(PARTITIONS),
                "--replication-factor", "3", "--config", "min.insync.replicas=2")  # fmt: skip
    producer = IdentifiedProducer(cluster.fleet.bootstrap, topic, name="p").start()
    for number in range(rounds):
        victim = number % 3 + 1
        before = len(producer.acked)
        until(lambda before=before: len(producer.acked) > before + 500)
        cluster.fleet.kill(victim)
        until(lambda victim=victim: is_without(cluster, topic, victim))
        cluster.fleet.start_broker(victim)
        until(lambda: is_whole(cluster, topic), 60)
    producer.stop()
    assert not producer.failed
    lost, doubled = lost_and_doubled(producer.acked, cluster.read_all(topic, PARTITIONS))
    return len(producer.acked), lost, doubled


def is_without(cluster: Run, topic: str, broker: int) -> bool:
    states = [cluster.state(topic, p) for p in range(PARTITIONS)]
    return all(broker not in state["isr"] and state["leader"] != broker for state in states)


def is_whole(cluster: Run, topic: str) -> bool:
    return all(len(cluster.state(topic, p)["isr"]) == 3 for p in range(PARTITIONS))


def test_no_acknowledged_record_is_lost_or_doubled_when_brokers_are_killed(cluster: Run) -> None:
    acked, lost, doubled = kill_rounds(cluster, 1)
    assert acked > 500
    assert (lost, doubled) == ([], [])


# ---- controllers that die ------------------------------------------------------------------------


def begin_move(cluster: Run, topic: str, target: list[int]) -> str:
    """A move that takes some seconds; the plan."""
    cluster.run("topics", "--create", "--topic", topic, "--replica-assignment", "1:2")
    cluster.produce(topic, [b"x" * 10_000] * 300)
    plan = cluster.plan({(topic, 0): target})
    execute = ("reassign", "--execute", "--reassignment-json-file", plan, "--throttle", "600000")
    cluster.run(*execute)
    return plan


def is_moved(cluster: Run, topic: str, target: list[int]) -> bool:
    record, state = cluster.assignment(topic), cluster.state(topic)
    moving = record["adding_replicas"] or record["removing_replicas"]
    return record["partitions"]["0"] == target and not moving and set(state["isr"]) == set(target)


def test_a_standby_finishes_the_move_of_a_controller_that_was_killed(cluster: Run) -> None:
    cluster.start_kedge(1001, "--take-over")
    begin_move(cluster, "standby", [3, 2])
    assert cluster.controller() == 1000
    cluster.controllers.pop(1000).kill()
    until(lambda: cluster.controller() == 1001)
    until(lambda: is_moved(cluster, "standby", [3, 2]))
    cluster.start_kedge(1000, "--take-over")
    assert cluster.controllers.pop(1001).stop() == 0
    until(lambda: cluster.controller() == 1000)
    assert len(cluster.read_all("standby", 1)) == 300


def test_kafka_finishes_the_move_of_the_last_kedge_and_kedge_takes_the_role_back(
    cluster: Run,
) -> None:
    begin_move(cluster, "alone", [3, 2])
    cluster.controllers.pop(1000).kill()
    until(lambda: cluster.controller() in (1, 2, 3))
    until(lambda: is_moved(cluster, "alone", [3, 2]))
    begin_move(cluster, "back", [3, 1])  # with Kafka's controller; Kedge is to finish it
    cluster.start_kedge(1000, "--take-over")
    until(lambda: cluster.controller() == 1000)
    until(lambda: is_moved(cluster, "back", [3, 1]))
    for topic in ("alone", "back"):
        assert len(cluster.read_all(topic, 1)) == 300
    cluster.run("topics", "--create", "--topic", "after", "--partitions", "3")
    cluster.run("topics", "--delete", "--topic", "after")


def main(rounds: int) -> None:
    with (
        tempfile.TemporaryDirectory() as directory,
        kedge_cluster(Path(directory), apart=True) as cluster,
    ):
        acked, lost, doubled = kill_rounds(cluster, rounds)
    print(f"{rounds} rounds: {acked} acknowledged, {len(lost)} lost, {len(doubled)} twice")
    sys.exit(1 if lost or doubled else 0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
