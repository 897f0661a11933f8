"""Injects random faults into a simulated cluster, and repairs all of them at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kedge.sim.broker_machine import BrokerMachine
from kedge.sim.cluster_under_test import ClusterUnderTest
from kedge.sim.controller_machine import ControllerMachine
from kedge.sim.network import Conditions
from kedge.sim.rng import SeededRng
from kedge.store.memory import MemoryStore

# the event in whose scripts a controller is killed; empty: any event
CRASH_EVENTS = (
    "",
    "",
    "",
    "ReassignmentRequested",
    "ReassignmentPlanned",
    "ReplicasDeleted",
    "DeletionsRequested",
    "TopicsChanged",
    "TopicModified",
    "BrokersChanged",
    "IsrChangeRequested",
    "IsrChangesNotified",
    "LogDirFailuresNotified",
    "LeaderAndIsrAnswered",
    "ShutdownRequested",
    "ElectionRequested",
    "PreferredElectionPlanned",
    "RebalanceDue",
    "RoleVacated",
)


@dataclass(frozen=True, slots=True)
class FaultSettings:
    """The relative probability of each fault, and its parameters.

    One in `every` steps of a run is a fault, the others are operations of the workload.
    """

    every: int = 3
    weights: dict[str, int] = field(
        default_factory=lambda: {
            "controller crash at a yield": 30,
            "broker crash": 9,
            "broker bounce": 8,
            "controlled shutdown": 6,
            "broker session lost": 5,
            "broker cut off from the store": 4,
            "controller role taken away": 4,
            "controller paused and replaced": 8,
            "controller session lost": 5,
            "controller cut off from the store": 5,
            "store reply lost": 6,
            "link cut": 8,
            "messages lost": 5,
            "network slow": 3,
            "log directory failure": 4,
            "slow disk": 4,
            "clock jump": 3,
        }
    )
    session_timeout_ms: int = 6_000
    down_ms_max: int = 40_000
    cut_ms_max: int = 25_000
    loss: float = 0.15
    loss_ms_max: int = 8_000
    slow_delay_ms_max: int = 1_500
    slow_disk_bytes_per_second: int = 500_000
    clock_jump_ms_max: int = 60_000
    yields_until_crash_max: int = 60
    brokers_down_max: int = 2


NO_FAULTS = FaultSettings(weights={})


class FaultInjector:
    """Selects random faults and injects them."""

    def __init__(self, cluster: ClusterUnderTest, faults: FaultSettings, rng: SeededRng) -> None:
        self.cluster = cluster
        self.faults = faults
        self.rng = rng
        self.is_over = False  # scheduled faults and repairs have no effect after `stop`
        self._do: dict[str, Callable[[], str | None]] = {
            "controller crash at a yield": self._crash_controller,
            "controller role taken away": self._take_role_away,
            "controller paused and replaced": self._pause_controller,
            "controller session lost": self._lose_controller_session,
            "controller cut off from the store": self._cut_controller_off,
            "store reply lost": self._lose_reply,
            "broker crash": self._crash_broker,
            "broker bounce": self._bounce_broker,
            "controlled shutdown": self._shut_broker_down,
            "broker session lost": self._lose_broker_session,
            "broker cut off from the store": self._cut_broker_off,
            "link cut": self._cut_link,
            "messages lost": self._lose_messages,
            "network slow": self._slow_network,
            "log directory failure": self._fail_directory,
            "slow disk": self._slow_disk,
            "clock jump": self._jump_clock,
        }

    def inject(self) -> str:
        """Inject one random fault; returns its kind and detail, or that it is not possible now."""
        kind = self.rng.weighted(self.faults.weights)
        detail = self._do[kind]()
        if detail is None:
            return f"no {kind}"
        self.cluster.coverage.faults[kind] += 1
        return f"{kind}: {detail}"

    def stop(self) -> None:
        """Repair all faults, and cancel those that are armed and have not happened yet."""
        self.is_over = True
        cluster = self.cluster
        cluster.network.heal_all()
        cluster.network.conditions = Conditions()
        for machine in cluster.machines.values():
            self._repair_broker(machine)
        for controller in cluster.controllers.values():
            controller.yields_until_crash = controller.crash_after_effect = None
            controller.yields_until_pause = None
            if controller.store is not None:
                controller.store.disconnect_during_next_batch(after=None)
            controller.skew_ms = controller.cut_off_until_ms = 0
        self.start_all()

    def start_all(self) -> None:
        """Start the brokers and controllers that are down."""
        for machine in self.cluster.machines.values():
            machine.start()
        for controller in self.cluster.controllers.values():
            controller.start()

    def _repair_broker(self, machine: BrokerMachine) -> None:
        machine.skew_ms = machine.cut_off_until_ms = 0
        for name in machine.disks.logs:
            self.cluster.bandwidth.set_disk_rate(machine.id, name, None)
        if machine.disks.failed or machine.is_leaving:
            # otherwise a broker that waits for the controller's response would stop later
            machine.crash()
            machine.disks.failed.clear()

    def _later(self, delay_ms: int, action: Callable[[], object]) -> None:
        self.cluster.clock.after(delay_ms, lambda: None if self.is_over else action())

    # ---- controllers ----

    def _active(self) -> ControllerMachine | None:
        return self.cluster.active()

    def _crash_controller(self) -> str | None:
        machine = self._active()
        if machine is None or machine.yields_until_crash is not None:
            return None
        machine.crash_in_event = self.rng.pick(CRASH_EVENTS)
        rare = bool(machine.crash_in_event)
        most = 25 if rare else self.faults.yields_until_crash_max
        machine.yields_until_crash = self.rng.between(1, most)
        if rare:
            # the event may never occur; then any event counts
            self._later(20_000, lambda: setattr(machine, "crash_in_event", ""))
        event = machine.crash_in_event or "any event"
        return f"{machine.node} in {machine.yields_until_crash} yields of {event}"

    def _take_role_away(self) -> str | None:
        if self.cluster.metadata.controller is None:
            return None
        self.cluster.delete_controller_node()
        return "/controller is deleted by hand"

    def _pause_controller(self) -> str | None:
        machine = self._active()
        if machine is None or machine.yields_until_pause is not None:
            return None
        machine.yields_until_pause = self.rng.between(1, 30)
        return f"{machine.node} in {machine.yields_until_pause} yields"

    def _lose_controller_session(self) -> str | None:
        machine = self.rng.pick(self._running())
        if machine is None or machine.store is None:
            return None
        machine.store.expire()
        return machine.node

    def _cut_controller_off(self) -> str | None:
        machine = self.rng.pick(self._running())
        if machine is None or machine.store is None:
            return None
        return self._cut_off(machine, machine.store)

    def _running(self) -> list[ControllerMachine | None]:
        running = [self.cluster.controllers[c] for c in sorted(self.cluster.controllers)]
        active = self._active()
        return [active, active, *(machine for machine in running if machine.is_up)]

    def _lose_reply(self) -> str | None:
        """Execute a part of the controller's next batch, and lose the response."""
        machine = self._active()
        if machine is None or machine.store is None:
            return None
        after = self.rng.between(0, 4)
        machine.store.disconnect_during_next_batch(after=after)
        return f"{machine.node}, after {after} requests"

    def _cut_off(self, machine: BrokerMachine | ControllerMachine, store: MemoryStore) -> str:
        """Disconnect from the store for a time; beyond the session timeout, the session expires."""
        length_ms = self.rng.between(200, self.faults.cut_ms_max)
        timeout_ms = self.faults.session_timeout_ms
        machine.cut_off_until_ms = self.cluster.clock.now_ms + length_ms
        store.disconnect()
        if length_ms > timeout_ms:
            self._later(timeout_ms, store.expire)
        return f"{machine.node} for {length_ms} ms"

    # ---- brokers ----

    def _pick_broker(self) -> BrokerMachine | None:
        machines = self.cluster.machines
        up = [machines[b] for b in sorted(machines) if machines[b].is_up]
        allowed = min(self.faults.brokers_down_max, len(machines) - 2)
        if len(machines) - len(up) >= allowed:
            return None
        return self.rng.pick(up)

    def _any_broker(self) -> BrokerMachine | None:
        machines = self.cluster.machines
        up = [machines[b] for b in sorted(machines) if machines[b].is_up]
        return self.rng.pick(up) if up else None

    def _restart_later(self, machine: BrokerMachine, delay_ms: int) -> None:
        def restart() -> None:
            # a directory of a running broker stays failed until a restart
            if not machine.is_up:
                machine.disks.failed.clear()
                machine.start()

        self._later(delay_ms, restart)

    def _crash_broker(self) -> str | None:
        machine = self._pick_broker()
        if machine is None:
            return None
        ends_ms = self.rng.between(0, self.faults.session_timeout_ms)
        down_ms = self.rng.between(500, self.faults.down_ms_max)
        machine.crash(session_ends_ms=ends_ms)
        self._restart_later(machine, down_ms)
        return f"{machine.node} for {down_ms} ms"

    def _bounce_broker(self) -> str | None:
        """Restart a broker within a few milliseconds."""
        machine = self._pick_broker()
        if machine is None:
            return None
        machine.crash()
        self._restart_later(machine, self.rng.between(0, 30))
        return machine.node

    def _shut_broker_down(self) -> str | None:
        machine = self._pick_broker()
        if machine is None:
            return None
        machine.shut_down()
        down_ms = self.rng.between(10_000, self.faults.down_ms_max)
        self._restart_later(machine, down_ms)
        return f"{machine.node} for {down_ms} ms"

    def _lose_broker_session(self) -> str | None:
        machine = self._any_broker()
        if machine is None or machine.store is None:
            return None
        machine.store.expire()
        return machine.node

    def _cut_broker_off(self) -> str | None:
        machine = self._any_broker()
        if machine is None or machine.store is None:
            return None
        return self._cut_off(machine, machine.store)

    def _fail_directory(self) -> str | None:
        machine = self._any_broker()
        if machine is None or machine.process is None or machine.disks.failed:
            return None
        name = self.rng.pick(machine.disks.healthy)
        machine.process.fail_directory(name)
        self._later(self.rng.between(5_000, self.faults.down_ms_max), lambda: self._repair(machine))
        return f"{machine.node} {name}"

    def _repair(self, machine: BrokerMachine) -> None:
        if machine.disks.failed:
            machine.crash()
            self._restart_later(machine, 500)

    def _slow_disk(self) -> str | None:
        machine = self._any_broker()
        if machine is None:
            return None
        name = self.rng.pick(list(machine.disks.logs))
        set_disk_rate = self.cluster.bandwidth.set_disk_rate
        set_disk_rate(machine.id, name, self.faults.slow_disk_bytes_per_second)
        length_ms = self.rng.between(1_000, self.faults.down_ms_max)
        self._later(length_ms, lambda: set_disk_rate(machine.id, name, None))
        return f"{machine.node} {name} for {length_ms} ms"

    def _jump_clock(self) -> str | None:
        machines: Sequence[BrokerMachine | ControllerMachine] = [
            *(self.cluster.machines[b] for b in sorted(self.cluster.machines)),
            *(self.cluster.controllers[c] for c in sorted(self.cluster.controllers)),
        ]
        machine = self.rng.pick(machines)
        most = self.faults.clock_jump_ms_max
        machine.skew_ms = self.rng.between(-most, most)
        return f"{machine.node} is off by {machine.skew_ms} ms"

    # ---- network ----

    def _cut_link(self) -> str | None:
        network = self.cluster.network
        nodes = [self.cluster.machines[b].node for b in sorted(self.cluster.machines)]
        others = nodes + [
            self.cluster.controllers[c].node for c in sorted(self.cluster.controllers)
        ]
        one = self.rng.pick(nodes)
        other = self.rng.pick([node for node in others if node != one])
        length_ms = self.rng.between(500, self.faults.cut_ms_max)
        network.cut(one, other)
        self._later(length_ms, lambda: network.heal(one, other))
        return f"{one} and {other} for {length_ms} ms"

    def _lose_messages(self) -> str | None:
        conditions = self.cluster.network.conditions
        conditions.loss = self.faults.loss
        self._later(
            self.rng.between(500, self.faults.loss_ms_max), lambda: setattr(conditions, "loss", 0)
        )
        return f"{self.faults.loss:.0%}"

    def _slow_network(self) -> str | None:
        conditions = self.cluster.network.conditions
        usual = Conditions().delay_ms_max
        conditions.delay_ms_max = self.faults.slow_delay_ms_max
        self._later(
            self.rng.between(500, self.faults.loss_ms_max),
            lambda: setattr(conditions, "delay_ms_max", usual),
        )
        return f"up to {conditions.delay_ms_max} ms"
