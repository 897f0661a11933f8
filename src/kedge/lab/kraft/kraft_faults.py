"""Faults of a lab in KRaft mode: those of brokers, and of controllers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from kedge.errors import InvalidRequest, UnknownBroker
from kedge.lab.fault_injection import FAULTS, FaultInjector
from kedge.lab.kraft.kraft_cluster import KraftLabCluster
from kedge.lab.kraft.lab_controller import LabController, controller_node
from kedge.lab.log_dirs import LogDirs
from kedge.lab.traffic_generator import TrafficGenerator
from kedge.model import BrokerId
from kedge.quorum.node import Resign
from kedge.sim.broker_machine import BrokerMachine, broker_node

KRAFT_FAULTS: Mapping[str, tuple[str, ...]] = {
    **FAULTS,
    "controller-crash": ("[ID]",),
    "controller-start": ("[ID]",),
}


class KraftFaultInjector(FaultInjector):
    """Injects and repairs faults. For the lab's thread."""

    kinds = KRAFT_FAULTS

    def __init__(
        self, cluster: KraftLabCluster, log_dirs: LogDirs, traffic: TrafficGenerator
    ) -> None:
        super().__init__(cluster, {}, log_dirs, traffic)
        self._kraft = cluster
        self._quorum = cluster.quorum

    def crash(self, machine: BrokerMachine, *, session_ends_ms: int) -> None:
        """End a broker; the controllers notice when its session ends."""
        self._log_dirs.pause(machine.id)
        machine.crash(session_ends_ms=session_ends_ms)
        self.on_stop(machine.id)

    def start(self, machine: BrokerMachine) -> None:
        """Start a broker, with all directories readable again."""
        machine.disks.failed.clear()
        self.on_start(machine.id)
        machine.start()
        self._log_dirs.resume(machine.id)

    # ---- the network ----

    def _partition_network(self, text: str) -> str:
        """Separate some brokers and controllers from all others."""
        inside = {self._name(part): part.strip() for part in text.split(",")}
        everyone = [broker_node(b) for b in self._kraft.machines]
        everyone += [controller_node(c) for c in self._quorum.controllers]
        for one, other in product(inside, [name for name in everyone if name not in inside]):
            self._kraft.network.cut(one, other)
        self.cut_off.update(BrokerId(int(part)) for part in inside.values())
        return f"{', '.join(inside)} {'is' if len(inside) == 1 else 'are'} disconnected"

    def _name(self, text: str) -> str:
        """A broker or controller as the network knows it."""
        number = int(text) if text.strip().isdigit() else -1
        if number in self._quorum.controllers:
            return controller_node(number)
        return broker_node(self._machine(text).id)

    def _reconnect(self, broker: BrokerId) -> None:
        """What was missed is read at once."""
        self._kraft.clock.after(1, self._kraft.deliver_image)

    def _heal(self) -> str:
        """Restore network and disks, and start controllers that are down."""
        healed = super()._heal()
        self._quorum.start()
        return healed

    # ---- controllers ----

    def _controller_failover(self) -> str:
        """The active controller resigns; another one is elected, or the same again."""
        active = self._quorum.active
        if active is None:
            raise InvalidRequest("there is no active controller", hint="try again later")
        active.handle(Resign(active.node.role.epoch))
        return f"controller {active.id} has resigned"

    def _controller_crash(self, text: str = "") -> str:
        """End a controller, without an id the active one."""
        found = self._controller(text) if text else self._quorum.active
        if found is None or not found.is_up:
            raise InvalidRequest("that controller is already down")
        found.crash()
        return f"controller {found.id} has crashed"

    def _controller_start(self, text: str = "") -> str:
        """Start a controller that is down, without an id all of them."""
        down = [c for c in self._quorum.controllers.values() if not c.is_up]
        wanted = [self._controller(text)] if text else down
        if not wanted or any(c.is_up for c in wanted):
            raise InvalidRequest("no controller is down" if not text else f"{text} is already up")
        for controller in wanted:
            controller.start()
        return f"controller {', '.join(str(c.id) for c in wanted)} is starting"

    def _controller(self, text: str) -> LabController:
        number = int(text) if text.isdigit() else -1
        if number not in self._quorum.controllers:
            known = ", ".join(map(str, self._quorum.controllers))
            raise UnknownBroker(f"no controller {text!r}", hint=f"the controllers are {known}")
        return self._quorum.controllers[number]
