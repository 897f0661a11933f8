"""What the parts of a simulated cluster can rely on."""

from kedge.controller.events import ShutdownRequested
from kedge.model import BrokerId
from kedge.sim.candidates import controller_node
from kedge.sim.machines import broker_node
from kedge.sim.network import CONTROLLER_TIMEOUT_MS
from kedge.sim.world import Shape, World


def test_a_request_that_a_controller_drops_without_an_answer_fails_after_the_timeout() -> None:
    world = World(1, Shape())
    controller, broker = BrokerId(1001), BrokerId(1)
    world.network.up(broker_node(broker))
    world.network.up(controller_node(controller))  # it listens, and no loop takes what it hears
    heard: list[str] = []
    event = ShutdownRequested(broker, 1)
    world.ask_controller(
        broker_node(broker), controller, event, heard.append, lambda: heard.append("failed")
    )
    world.run_until(CONTROLLER_TIMEOUT_MS - 1)
    assert heard == []
    world.run_until(CONTROLLER_TIMEOUT_MS)
    assert heard == ["failed"]
