"""A controller that is killed at any point of a move, and who finishes it.

    python -m tests.real.test_wire_phases               # every point, both kinds of successors
    python -m tests.real.test_wire_phases --protocol 2.6

After every write and after every round of requests that a move consists of, the controller is
killed. A second Kedge that stands by goes on. Where there is none, one of Kafka's own brokers does,
and the next Kedge takes the role back from it.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from jvm.fleet import KedgeController
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicCreation
from kedge.model import BrokerId
from kedge.protocol.messages import AlterPartitionReassignmentsRequest
from tests.endpoint.client import Client
from tests.real.clusters import under_kedge
from tests.real.kedge_cluster import Run, kedge_cluster, until
from tests.real.mortal import NEVER

pytestmark = pytest.mark.real

BROKERS = (1, 2, 3)
BEFORE, TARGET = (1, 2), (3, 2)
MORTAL = (sys.executable, "-m", "tests.real.mortal")
RECORDS, LARGE_RECORDS = 50, 200


class Mortals:
    """Controllers that die at a point of the move of a topic, each of its own topic."""

    def __init__(self, cluster: Run, protocol: str) -> None:
        self.cluster = cluster
        self.stored: dict[str, tuple[bytes, bytes]] = {}  # by topic: what is there at the end
        self._protocol = protocol
        self._node = 1100

    def start(self, topic: str, after: int) -> int:
        """One more, which takes the role from any broker; its id."""
        self._node += 1
        options = ("--topic", topic, "--after", str(after), "--session-timeout-ms", "1000")
        spoken = ("--inter-broker-protocol", self._protocol)
        self.cluster.start_kedge(self._node, *options, *spoken, program=MORTAL)
        return self._node

    def begin(self, topic: str, node: int) -> KedgeController:
        """Have a controller begin the move of its topic."""
        until(lambda: self.cluster.controller() == node)
        make_topic(self.cluster, topic)
        order_move(self.cluster.controllers[node], topic)
        return self.cluster.controllers[node]

    def die(self, topic: str, node: int) -> None:
        mortal = self.begin(topic, node)
        until(lambda: mortal.has_ended)
        self.cluster.controllers.pop(node).kill()

    def await_end(self, topic: str) -> None:
        """Wait until somebody has finished the move."""
        until(lambda: is_moved(self.cluster, topic), 60)
        assert len(self.cluster.read_all(topic, 1)) == RECORDS
        self.stored[topic] = stored(self.cluster, topic)

    def points(self) -> list[str]:
        """What a move does to the world, one thing after the other, if nobody dies."""
        topic = f"whole-{time.monotonic_ns()}"
        node = self.start(topic, NEVER)
        mortal = self.begin(topic, node)
        self.await_end(topic)
        time.sleep(1.0)  # the last requests may be on their way
        self.cluster.controllers.pop(node).stop()
        return re.findall(r"^STEP \d+ (\w+)$", mortal.log.read_text(), re.MULTILINE)


def make_topic(cluster: Run, topic: str) -> None:
    admin = KafkaAdmin(cluster.fleet.bootstrap)
    assignment = {0: [BrokerId(b) for b in BEFORE]}
    until(lambda: admin.create_topics([TopicCreation(topic, assignment=assignment)])[topic] is None)
    admin.close()
    cluster.produce(topic, [f"{topic} {n}" for n in range(RECORDS)])


def order_move(controller: KedgeController, topic: str) -> None:
    """Order it of this controller and of nobody else, should it die of the order."""
    kind = AlterPartitionReassignmentsRequest.ReassignableTopic
    move = kind.ReassignablePartition(partition_index=0, replicas=list(TARGET))
    wanted = [kind(name=topic, partitions=[move])]
    request = AlterPartitionReassignmentsRequest(timeout_ms=30_000, topics=wanted)
    with Client(int(controller.address.rpartition(":")[2])) as line:
        line.send(request, 0)
        with contextlib.suppress(OSError):
            line.receive()


def is_moved(cluster: Run, topic: str) -> bool:
    record, state = cluster.assignment(topic), cluster.state(topic)
    moving = record["adding_replicas"] or record["removing_replicas"]
    there = record["partitions"]["0"] == list(TARGET) and set(state["isr"]) == set(TARGET)
    return there and not moving and not (cluster.fleet.log_dir(1) / f"{topic}-0").exists()


def stored(cluster: Run, topic: str) -> tuple[bytes, bytes]:
    """The nodes of a topic and of its partition, but for numbers and ids that differ."""
    record = cluster.node(f"/brokers/topics/{topic}") or b""
    state = cluster.node(f"/brokers/topics/{topic}/partitions/0/state") or b""
    record = re.sub(rb'"topic_id":"[^"]{22}"', b'"topic_id":"?"', record)
    return record, re.sub(rb"\d+", b"0", state)


def play(mortals: Mortals, points: Sequence[int], *, standby: bool) -> None:
    """Let one controller after the other die, each at its point; the move must be finished."""
    cluster = mortals.cluster
    kind = "standby" if standby else "alone"
    plan = [(f"{kind}-{point}-{time.monotonic_ns()}", point) for point in points]
    node: int | None = None
    for (topic, point), then in zip(plan, [*plan[1:], ("nothing", NEVER)], strict=True):
        node = node or mortals.start(topic, point)  # takes the role back from the broker
        until(lambda node=node: cluster.controller() == node)
        successors = {mortals.start(*then)} if standby else set(BROKERS)
        mortals.die(topic, node)
        until(lambda successors=successors: cluster.controller() in successors)
        mortals.await_end(topic)
        node = successors.pop() if standby else None
    if node is not None:
        assert cluster.controllers.pop(node).stop() == 0


@pytest.fixture(scope="module")
def mortals(request: pytest.FixtureRequest) -> Iterator[Mortals]:
    """The shared cluster, for a while without its usual controller."""
    cluster = under_kedge(request.config, "3.9")
    assert cluster.controllers.pop(1000).stop() == 0
    yield Mortals(cluster, "3.9")
    for node in list(cluster.controllers):
        cluster.controllers.pop(node).kill()
    cluster.start_kedge(1000, "--inter-broker-protocol", "3.9", "--take-over")
    until(lambda: cluster.controller() == 1000)


def test_a_move_is_finished_by_whoever_comes_next(mortals: Mortals) -> None:
    """After the first write the move is stored and nobody told; at 5 the leader has moved, at 7
    the old replica has left the ISR, and nobody was told either. The command has the others."""
    play(mortals, [1, 7], standby=True)
    play(mortals, [5], standby=False)
    # Kedge and Kafka leave the same bytes behind
    assert len(mortals.stored) == 3
    assert len(set(mortals.stored.values())) == 1, mortals.stored


def begin_slowly(cluster: Run, topic: str) -> bytes:
    """Order a move that takes some seconds; what is stored of it meanwhile."""
    cluster.run("topics", "--create", "--topic", topic, "--replica-assignment", "1:2")
    cluster.produce(topic, [b"x" * 10_000] * LARGE_RECORDS)
    plan = cluster.plan({(topic, 0): list(TARGET)})
    execute = ("reassign", "--execute", "--reassignment-json-file", plan, "--throttle", "600000")
    cluster.run(*execute)
    return stored(cluster, topic)[0]


def test_kedge_and_kafka_finish_what_the_other_has_begun(mortals: Mortals) -> None:
    cluster = mortals.cluster
    until(lambda: cluster.controller() in BROKERS)
    begun_by_kafka = begin_slowly(cluster, "theirs")
    kedge = mortals.start("nothing", NEVER)
    until(lambda: cluster.controller() == kedge)
    until(lambda: is_moved(cluster, "theirs"))
    begun_by_kedge = begin_slowly(cluster, "ours")
    assert cluster.controllers.pop(kedge).stop() == 0
    until(lambda: cluster.controller() in BROKERS)
    until(lambda: is_moved(cluster, "ours"))
    assert begun_by_kedge == begun_by_kafka
    assert b'"adding_replicas":{"0":[3]}' in begun_by_kedge
    assert stored(cluster, "ours") == stored(cluster, "theirs")
    for topic in ("ours", "theirs"):
        assert len(cluster.read_all(topic, 1)) == LARGE_RECORDS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--protocol", default="3.9", choices=["2.6", "2.8", "3.9"])
    protocol: str = parser.parse_args().protocol
    with (
        tempfile.TemporaryDirectory(prefix="kedge-phases-") as directory,
        kedge_cluster(Path(directory), protocol=protocol, with_tools=False) as cluster,
    ):
        assert cluster.controllers.pop(1000).stop() == 0
        mortals = Mortals(cluster, protocol)
        points = mortals.points()
        print(f"protocol {protocol}: {len(points)} points: {' '.join(points)}", flush=True)
        for standby in (True, False):
            play(mortals, range(1, len(points) + 1), standby=standby)
            who = "a standby" if standby else "one of Kafka's brokers"
            print(f"killed after each of them: finished by {who} every time", flush=True)
        assert len(set(mortals.stored.values())) == 1, mortals.stored
        print(f"{len(mortals.stored)} moves, the same bytes in the store after all of them")


if __name__ == "__main__":
    main()
