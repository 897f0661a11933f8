"""Adapters of the broker port to try the contract on: TCP to a fake broker, and simulated."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from kedge.brokers.environment import FetchResponse
from kedge.brokers.partition_host import Timings
from kedge.brokers.port import Brokers
from kedge.brokers.wire import WireBrokers
from kedge.brokers.wire_forms import Address
from kedge.controller.settings import Settings
from kedge.model import Broker, BrokerId
from kedge.model.broker_requests import BrokerAnswer, BrokerRequest, LeaderAndIsr
from kedge.sim.bandwidth import Hardware
from kedge.sim.broker_links import SimulatedLinks
from kedge.sim.cluster_metadata import VolatileJournal
from kedge.sim.network import Conditions
from kedge.sim.simulated_cluster import ControllerAddress, SimulatedCluster
from kedge.store.memory import Delivery
from kedge.store.port import Create
from kedge.store.znodes import persistent_paths
from tests.brokers.fake_broker import FakeBroker

CONTROLLER = BrokerId(1000)
PATIENCE_S = 20.0
PATIENCE_MS = 120_000
RECONNECT_MS = 50


class BrokersBackend(Protocol):
    """Brokers that are down at first, and the links to them."""

    brokers: Brokers

    def broker(self, number: int) -> Broker:
        """One of the brokers, as it is registered."""
        ...

    def start(self, number: int) -> None:
        """Let a broker listen."""
        ...

    def break_connection_at(self, number: int, request: int) -> None:
        """Break the connection once the broker has that many requests; the last has no answer."""
        ...

    def received(self, number: int) -> list[int]:
        """The partitions of the LeaderAndIsr requests that a broker has received, in sequence."""
        ...

    def wait_until(self, holds: Callable[[], object]) -> None: ...

    def wait(self) -> None:
        """Long enough for a request that is under way to be answered."""
        ...

    def close(self) -> None: ...


class WireBackend:
    def __init__(self) -> None:
        self.brokers = WireBrokers(node=CONTROLLER, at=Address("127.0.0.1", 9090))
        self._fakes = {number: FakeBroker(broker=number) for number in (1, 2)}

    def broker(self, number: int) -> Broker:
        return self._fakes[number].broker

    def start(self, number: int) -> None:
        self._fakes[number].listen()

    def break_connection_at(self, number: int, request: int) -> None:
        self._fakes[number].drop_after = request

    def received(self, number: int) -> list[int]:
        requests = [request for _, _, request in self._fakes[number].heard]
        return [request.topics[0].partitions[0].partition for request in requests]

    def wait_until(self, holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, "nothing came"
            time.sleep(0.005)

    def wait(self) -> None:
        time.sleep(0.1)

    def close(self) -> None:
        self.brokers.close()
        for fake in self._fakes.values():
            fake.close()


class _Cluster(SimulatedCluster):
    """Brokers without a controller, on a network that is fast and loses nothing."""

    def __init__(self) -> None:
        super().__init__(
            1,
            VolatileJournal(),
            settings=Settings(),
            timings=Timings(),
            conditions=Conditions(),
            hardware=Hardware(),
        )
        self.batch("setup", self.new_session(), [Create(path) for path in persistent_paths()])

    def deliver(self, delivery: Delivery) -> None:
        self.clock.after(1, delivery)

    def controller_address(self, controller: BrokerId) -> ControllerAddress | None:
        return None

    def arrives_at_once(self, response: FetchResponse, *, was_waiting: bool) -> bool:
        return True


class SimulatedBackend:
    def __init__(self) -> None:
        self._cluster = _Cluster()
        self._received: dict[int, list[int]] = {1: [], 2: []}
        self._break_at: dict[int, int] = {}
        for number in self._received:
            self._cluster.add_broker(Broker(BrokerId(number)), ("/data",))
        self._cluster.network.up("controller")
        self.brokers = SimulatedLinks(self._cluster, CONTROLLER, "controller")

    def broker(self, number: int) -> Broker:
        return self._cluster.machines[BrokerId(number)].broker

    def start(self, number: int) -> None:
        machine = self._cluster.machines[BrokerId(number)]
        machine.start()
        process = machine.process
        assert process is not None
        handle = process.handle

        def recorded(request: BrokerRequest) -> BrokerAnswer:
            assert isinstance(request, LeaderAndIsr)
            self._received[number] += [tp.partition for tp in request.partitions]
            if len(self._received[number]) == self._break_at.get(number):
                self._cluster.network.down(machine.node)
                self._cluster.clock.after(RECONNECT_MS, lambda: network.up(machine.node))
            return handle(request)

        network = self._cluster.network
        process.handle = recorded

    def break_connection_at(self, number: int, request: int) -> None:
        self._break_at[number] = request

    def received(self, number: int) -> list[int]:
        return self._received[number]

    def wait_until(self, holds: Callable[[], object]) -> None:
        deadline_ms = self._cluster.clock.now_ms + PATIENCE_MS
        while not holds():
            assert self._cluster.clock.now_ms < deadline_ms, "nothing came"
            self._cluster.clock.step()

    def wait(self) -> None:
        self._cluster.clock.run_until(self._cluster.clock.now_ms + 1_000)

    def close(self) -> None:
        self._cluster.ensemble.close()
