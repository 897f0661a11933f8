"""Requests that overlap in time: the last one that the controller processes decides."""

from kedge.model import BrokerId, TopicPartition
from kedge.sim.checked_cluster import ClusterShape
from kedge.sim.cluster_under_test import ClusterUnderTest
from kedge.sim.controller_machine import controller_node
from kedge.sim.convergence import unmet_conditions
from kedge.sim.operator import OPERATOR
from kedge.topics import CreateRequest

TP = TopicPartition("t", 0)
SLOW_MS, FAST_MS = 900, 1


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


class Scene:
    """A cluster without faults, and one partition on brokers 1 and 2."""

    def __init__(self) -> None:
        self.cluster = cluster = ClusterUnderTest(1, ClusterShape(brokers=4, controllers=2))
        cluster.start()
        cluster.run_until(2_000)
        cluster.workload.topics.create_topic(CreateRequest("t", assignments={0: ids(1, 2)}))
        self.rest()

    def request(self, target: tuple[BrokerId, ...] | None, delay_ms: int) -> None:
        """Send a request that takes so long to arrive."""
        now = self.cluster.network.conditions
        before = now.delay_ms_min, now.delay_ms_max
        now.delay_ms_min = now.delay_ms_max = delay_ms
        self.cluster.workload.moves.request_moves({TP: target})
        now.delay_ms_min, now.delay_ms_max = before

    def run(self, ms: int) -> None:
        self.cluster.run_until(self.cluster.clock.now_ms + ms)

    def rest(self) -> None:
        self.run(120_000)
        assert unmet_conditions(self.cluster) == []

    def replicas(self) -> tuple[BrokerId, ...]:
        now = self.cluster.metadata.assignment(TP)
        assert now is not None
        return now.replicas

    def mismatch(self, *numbers: int) -> str | None:
        return self.cluster.checkers.expectations.mismatch(TP, ids(*numbers))


def test_a_request_that_was_overtaken_is_processed_last_and_decides() -> None:
    scene = Scene()
    scene.request(ids(3, 4), SLOW_MS)
    scene.request(ids(2, 3), FAST_MS)
    scene.rest()
    assert scene.replicas() == ids(3, 4)
    assert scene.cluster.coverage.counts["move: NONE"] == 2
    assert scene.mismatch(2, 3) is not None


def test_a_request_that_was_not_overtaken_does_not_decide() -> None:
    scene = Scene()
    scene.request(ids(3, 4), FAST_MS)
    scene.request(ids(2, 3), SLOW_MS)
    scene.rest()
    assert scene.replicas() == ids(2, 3)
    assert scene.mismatch(3, 4) is not None


def test_a_cancel_that_was_overtaken_leads_to_the_origin_of_the_move_that_it_found() -> None:
    scene = Scene()
    for _ in range(4):
        scene.cluster.workload.producers.produce_to(TP, 1 << 30)
    scene.run(1_000)
    scene.request(None, 2 * SLOW_MS)  # no move is in progress when it is sent
    scene.request(ids(3, 4), FAST_MS)
    scene.rest()
    assert sorted(scene.replicas()) == [1, 2]
    assert scene.cluster.coverage.counts["move: NONE"] == 2
    assert scene.mismatch(3, 4) is not None


def test_a_request_that_no_controller_begins_to_process_leaves_no_end() -> None:
    scene = Scene()
    holder = scene.cluster.metadata.controller
    assert holder is not None
    scene.cluster.network.cut(OPERATOR, controller_node(holder))
    scene.request(ids(3, 4), FAST_MS)
    scene.rest()
    assert scene.replicas() == ids(1, 2)
    assert scene.cluster.coverage.counts["move: no answer"] == 1
    assert scene.mismatch(3, 4) is not None


def test_a_request_whose_answer_is_lost_leaves_two_ends_until_the_next_is_accepted() -> None:
    scene = Scene()
    holder = scene.cluster.metadata.controller
    assert holder is not None
    scene.request(ids(3, 4), FAST_MS)
    while scene.mismatch(3, 4) is not None:
        scene.cluster.step()
    scene.cluster.network.cut(OPERATOR, controller_node(holder))
    scene.rest()
    assert scene.replicas() == ids(3, 4)
    assert scene.cluster.coverage.counts["move: no answer"] == 1
    assert scene.mismatch(1, 2) is None
    scene.cluster.network.heal_all()
    scene.request(ids(2, 1), FAST_MS)
    scene.rest()
    assert scene.mismatch(3, 4) is not None
    assert scene.mismatch(1, 2) is not None
