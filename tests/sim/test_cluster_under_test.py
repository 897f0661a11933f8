"""What the parts of a simulated cluster can rely on."""

from kedge.controller.events import ShutdownRequested
from kedge.model import BrokerId
from kedge.sim.broker_machine import broker_node
from kedge.sim.checked_cluster import ClusterShape
from kedge.sim.cluster_under_test import ClusterUnderTest
from kedge.sim.controller_machine import controller_node
from kedge.sim.network import CONTROLLER_TIMEOUT_MS


def test_a_request_that_a_controller_drops_without_an_answer_fails_after_the_timeout() -> None:
    cluster = ClusterUnderTest(1, ClusterShape())
    controller, broker = BrokerId(1001), BrokerId(1)
    cluster.network.up(broker_node(broker))
    cluster.network.up(controller_node(controller))  # it listens, and no loop takes what it hears
    heard: list[str] = []
    event = ShutdownRequested(broker, 1)
    cluster.call_controller(
        broker_node(broker), controller, event, heard.append, lambda: heard.append("failed")
    )
    cluster.run_until(CONTROLLER_TIMEOUT_MS - 1)
    assert heard == []
    cluster.run_until(CONTROLLER_TIMEOUT_MS)
    assert heard == ["failed"]
