"""Requests that overlap in time: the last one that the controller processes decides."""

from kedge.model import BrokerId, TopicPartition
from kedge.sim.candidates import controller_node
from kedge.sim.desk import OPERATOR
from kedge.sim.rest import complaints
from kedge.sim.world import Shape, World
from kedge.topics import CreateRequest

TP = TopicPartition("t", 0)
SLOW_MS, FAST_MS = 900, 1


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


class Scene:
    """A cluster without faults, and one partition on brokers 1 and 2."""

    def __init__(self) -> None:
        self.world = world = World(1, Shape(brokers=4, controllers=2))
        world.start()
        world.run_until(2_000)
        world.operator.topics.create_topic(CreateRequest("t", assignments={0: ids(1, 2)}))
        self.rest()

    def request(self, target: tuple[BrokerId, ...] | None, delay_ms: int) -> None:
        """Send a request that takes so long to arrive."""
        now = self.world.network.conditions
        before = now.delay_ms_min, now.delay_ms_max
        now.delay_ms_min = now.delay_ms_max = delay_ms
        self.world.operator.moves.ask_to_move({TP: target})
        now.delay_ms_min, now.delay_ms_max = before

    def run(self, ms: int) -> None:
        self.world.run_until(self.world.clock.now_ms + ms)

    def rest(self) -> None:
        self.run(120_000)
        assert complaints(self.world) == []

    def replicas(self) -> tuple[BrokerId, ...]:
        now = self.world.truth.assignment(TP)
        assert now is not None
        return now.replicas

    def complaint(self, *numbers: int) -> str | None:
        return self.world.checkers.expectations.complaint(TP, ids(*numbers))


def test_a_request_that_was_overtaken_is_processed_last_and_decides() -> None:
    scene = Scene()
    scene.request(ids(3, 4), SLOW_MS)
    scene.request(ids(2, 3), FAST_MS)
    scene.rest()
    assert scene.replicas() == ids(3, 4)
    assert scene.world.coverage.counts["move: NONE"] == 2
    assert scene.complaint(2, 3) is not None


def test_a_request_that_was_not_overtaken_does_not_decide() -> None:
    scene = Scene()
    scene.request(ids(3, 4), FAST_MS)
    scene.request(ids(2, 3), SLOW_MS)
    scene.rest()
    assert scene.replicas() == ids(2, 3)
    assert scene.complaint(3, 4) is not None


def test_a_cancel_that_was_overtaken_leads_to_the_origin_of_the_move_that_it_found() -> None:
    scene = Scene()
    for _ in range(4):
        scene.world.operator.producers.produce_to(TP, 1 << 30)
    scene.run(1_000)
    scene.request(None, 2 * SLOW_MS)  # no move is in progress when it is sent
    scene.request(ids(3, 4), FAST_MS)
    scene.rest()
    assert sorted(scene.replicas()) == [1, 2]
    assert scene.world.coverage.counts["move: NONE"] == 2
    assert scene.complaint(3, 4) is not None


def test_a_request_that_no_controller_begins_to_process_leaves_no_end() -> None:
    scene = Scene()
    holder = scene.world.truth.controller
    assert holder is not None
    scene.world.network.cut(OPERATOR, controller_node(holder))
    scene.request(ids(3, 4), FAST_MS)
    scene.rest()
    assert scene.replicas() == ids(1, 2)
    assert scene.world.coverage.counts["move: no answer"] == 1
    assert scene.complaint(3, 4) is not None


def test_a_request_whose_answer_is_lost_leaves_two_ends_until_the_next_is_accepted() -> None:
    scene = Scene()
    holder = scene.world.truth.controller
    assert holder is not None
    scene.request(ids(3, 4), FAST_MS)
    while scene.complaint(3, 4) is not None:
        scene.world.step()
    scene.world.network.cut(OPERATOR, controller_node(holder))
    scene.rest()
    assert scene.replicas() == ids(3, 4)
    assert scene.world.coverage.counts["move: no answer"] == 1
    assert scene.complaint(1, 2) is None
    scene.world.network.heal_all()
    scene.request(ids(2, 1), FAST_MS)
    scene.rest()
    assert scene.complaint(3, 4) is not None
    assert scene.complaint(1, 2) is not None
