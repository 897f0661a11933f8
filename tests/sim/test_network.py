"""Calls over a network that delays, loses and cuts."""

from functools import partial

from kedge.sim.clock import Clock
from kedge.sim.network import Conditions, Network, Reply
from kedge.sim.rng import SeededRng


class Scene:
    def __init__(self, **conditions: float) -> None:
        self.clock = Clock()
        self.network = Network(self.clock, SeededRng(1, "network"), Conditions(**conditions))  # pyright: ignore[reportArgumentType]
        self.heard: list[tuple[int, str]] = []
        self.served = 0
        for node in ("a", "b"):
            self.network.up(node)

    def call(self, *, parked: list[Reply] | None = None, timeout_ms: int | None = None) -> None:
        def serve(reply: Reply) -> None:
            self.served += 1
            parked.append(reply) if parked is not None else reply("pong")

        fail = partial(self.hear, "failed")
        self.network.call("a", "b", serve, self.hear, fail, timeout_ms=timeout_ms)

    def hear(self, words: str) -> None:
        self.heard.append((self.clock.now_ms, words))

    def run(self, ms: int = 10_000) -> list[str]:
        self.clock.run_until(self.clock.now_ms + ms)
        return [words for _, words in self.heard]


def test_a_call_is_answered_after_two_delays() -> None:
    scene = Scene(delay_ms_min=5, delay_ms_max=5)
    scene.call()
    scene.run()
    assert scene.heard == [(10, "pong")]


def test_a_lost_message_fails_once_the_timeout_has_passed() -> None:
    scene = Scene(loss=1.0, timeout_ms=700)
    scene.call()
    scene.run()
    assert scene.heard == [(700, "failed")]


def test_a_cut_link_fails_open_calls_and_new_ones_until_it_heals() -> None:
    scene, parked = Scene(timeout_ms=100), list[Reply]()
    scene.call(parked=parked)
    scene.run(50)
    scene.network.cut("b", "a")
    scene.call()
    assert scene.run() == ["failed", "failed"]
    parked[0]("too late")
    scene.network.heal("a", "b")
    scene.call()
    assert scene.run() == ["failed", "failed", "pong"]
    assert scene.served == 2


def test_a_dead_node_refuses_soon_and_forgets_what_it_was_asked() -> None:
    scene, parked = Scene(refused_ms=20), list[Reply]()
    scene.call(parked=parked)
    scene.run(50)
    scene.network.down("b")
    scene.call()
    assert scene.run(60) == ["failed", "failed"]
    scene.network.up("b")
    parked[0]("from an earlier life")
    assert scene.run() == ["failed", "failed"]


def test_a_caller_that_died_hears_nothing() -> None:
    scene = Scene()
    scene.call()
    scene.network.down("a")
    scene.network.up("a")
    assert scene.run() == []


def test_a_parked_call_is_answered_whenever_the_other_side_likes() -> None:
    scene, parked = Scene(timeout_ms=10), list[Reply]()
    scene.call(parked=parked)
    assert scene.run(60_000) == []
    parked[0]("at last")
    assert scene.run() == ["at last"]


def test_a_call_with_a_timeout_fails_when_it_is_not_answered() -> None:
    scene, parked = Scene(), list[Reply]()
    scene.call(parked=parked, timeout_ms=30_000)
    assert scene.run(29_999) == []
    scene.run(1)
    assert scene.heard == [(30_000, "failed")]
    parked[0]("too late")
    assert scene.run() == ["failed"]


def test_a_call_that_was_answered_does_not_time_out() -> None:
    scene = Scene()
    scene.call(timeout_ms=30_000)
    assert scene.run(60_000) == ["pong"]
