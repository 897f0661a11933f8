"""Links of a controller to simulated brokers, with one request in flight each."""

from __future__ import annotations

from collections import deque

from kedge.brokers.port import Answered
from kedge.model import Broker, BrokerId
from kedge.model.broker_requests import BrokerAnswer, BrokerRequest
from kedge.sim.broker_machine import broker_node
from kedge.sim.network import Reply
from kedge.sim.simulated_cluster import SimulatedCluster

RETRY_MS = 100


class SimulatedLinks:
    """The `Brokers` port of one controller."""

    def __init__(self, cluster: SimulatedCluster, controller: BrokerId, node: str) -> None:
        self.cluster = cluster
        self.controller = controller
        self.node = node

    def open(self, broker: Broker, *, epoch: int) -> SimulatedLink:
        """Open a link to a broker; each request names the registration by its broker epoch."""
        del epoch
        return SimulatedLink(self, broker.id)


class SimulatedLink:
    """The link of one controller to one broker."""

    def __init__(self, links: SimulatedLinks, broker: BrokerId) -> None:
        self.links = links
        self.broker = broker
        self._queue: deque[tuple[BrokerRequest, Answered]] = deque()
        self._in_flight = False
        self._is_closed = False

    def send(self, request: BrokerRequest, answered: Answered) -> None:
        """Queue a request."""
        self.links.cluster.request_sent(self.links.controller, request)
        self._queue.append((request, answered))
        self._transmit()

    def close(self) -> None:
        """Close the link; unanswered requests are dropped."""
        self._is_closed = True
        self._queue.clear()

    def _transmit(self) -> None:
        if self._is_closed or self._in_flight or not self._queue:
            return
        self._in_flight = True
        request, answered = self._queue[0]
        machine = self.links.cluster.machines[self.broker]

        def serve(reply: Reply) -> None:
            if machine.process is not None:
                reply(machine.process.handle(request))

        def on_answer(answer: BrokerAnswer) -> None:
            self._in_flight = False
            if not self._is_closed:
                self._queue.popleft()
                answered(answer)
                self._transmit()

        network = self.links.cluster.network
        node = broker_node(self.broker)
        network.call(self.links.node, node, serve, on_answer, self._retry_later)

    def _retry_later(self) -> None:
        def retry() -> None:
            self._in_flight = False
            self._transmit()

        self.links.cluster.clock.after(RETRY_MS, retry)
