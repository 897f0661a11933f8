"""Making things go wrong: each fault by its name, and how it is mended again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kedge.sim.candidates import ControllerMachine
from kedge.sim.faults import Faults
from kedge.sim.machines import BrokerMachine
from kedge.sim.network import Conditions
from kedge.sim.seeds import Luck
from kedge.store.memory import MemoryStore

if TYPE_CHECKING:
    from kedge.sim.world import World

DISK_BYTES_PER_SECOND = 200e6

# where to be killed: in any script, or in one of those that do not run often
RARE_EVENTS = (
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


class Mishaps:
    """Draws faults and carries them out."""

    def __init__(self, world: World, faults: Faults, luck: Luck) -> None:
        self.world = world
        self.faults = faults
        self.luck = luck
        self.is_over = False  # once the cluster is to settle, what was planned does not happen
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

    def happen(self) -> str:
        """Let one fault happen, and say which; one that cannot happen now is none."""
        kind = self.luck.weighted(self.faults.weights)
        detail = self._do[kind]()
        if detail is None:
            return f"no {kind}"
        self.world.coverage.faults[kind] += 1
        return f"{kind}: {detail}"

    def stop(self) -> None:
        """Mend everything: nobody is down, cut off, slow or wrong about the time."""
        self.is_over = True
        world = self.world
        world.network.heal_all()
        world.network.conditions = Conditions()
        for machine in world.machines.values():
            self._mend_broker(machine)
        for candidate in world.candidates.values():
            candidate.crash_at = candidate.crash_after = None
            candidate.skew_ms = candidate.cut_off_until_ms = 0
        self.start_everybody()

    def start_everybody(self) -> None:
        """Start what is down; what is up stays so."""
        for machine in self.world.machines.values():
            machine.start()
        for candidate in self.world.candidates.values():
            candidate.start()

    def _mend_broker(self, machine: BrokerMachine) -> None:
        machine.skew_ms = machine.cut_off_until_ms = 0
        for name in machine.disks.logs:
            resource = ("disk", machine.id, name)
            self.world.transfers.set_capacity(resource, DISK_BYTES_PER_SECOND)
        if machine.disks.failed or machine.is_leaving:
            # else a broker that waits for its answer would go once nobody starts it again
            machine.crash()
            machine.disks.failed.clear()

    def _later(self, delay_ms: int, action: Callable[[], object]) -> None:
        self.world.clock.after(delay_ms, lambda: None if self.is_over else action())

    # ---- controllers ----

    def _active(self) -> ControllerMachine | None:
        return self.world.active()

    def _crash_controller(self) -> str | None:
        machine = self._active()
        if machine is None or machine.crash_at is not None:
            return None
        machine.crash_in = self.luck.pick(RARE_EVENTS)
        rare = bool(machine.crash_in)
        most = 25 if rare else self.faults.yields_until_crash_max
        machine.crash_at = self.luck.between(1, most)
        if rare:
            # the event may never come; then any will do
            self._later(20_000, lambda: setattr(machine, "crash_in", ""))
        return f"{machine.node} in {machine.crash_at} yields of {machine.crash_in or 'anything'}"

    def _take_role_away(self) -> str | None:
        if self.world.truth.controller is None:
            return None
        self.world.drop_claim()
        return "the claim is deleted by hand"

    def _pause_controller(self) -> str | None:
        machine = self._active()
        if machine is None or machine.pause_at is not None:
            return None
        machine.pause_at = self.luck.between(1, 30)
        return f"{machine.node} in {machine.pause_at} yields"

    def _lose_controller_session(self) -> str | None:
        machine = self.luck.pick(self._running())
        if machine is None or machine.store is None:
            return None
        machine.store.expire()
        return machine.node

    def _cut_controller_off(self) -> str | None:
        machine = self.luck.pick(self._running())
        if machine is None or machine.store is None:
            return None
        return self._cut_off(machine, machine.store)

    def _running(self) -> list[ControllerMachine | None]:
        running = [self.world.candidates[c] for c in sorted(self.world.candidates)]
        active = self._active()
        return [active, active, *(machine for machine in running if machine.is_up)]

    def _lose_reply(self) -> str | None:
        """The next batch of the controller is carried out in part, and nobody says how far."""
        machine = self._active()
        if machine is None or machine.store is None:
            return None
        after = self.luck.between(0, 4)
        machine.store.disconnect_during_next_batch(after=after)
        return f"{machine.node}, after {after} requests"

    def _cut_off(self, machine: BrokerMachine | ControllerMachine, store: MemoryStore) -> str:
        """No connection to the store for a while; too long, and the session ends."""
        length_ms = self.luck.between(200, self.faults.cut_ms_max)
        timeout_ms = self.faults.session_timeout_ms
        machine.cut_off_until_ms = self.world.clock.now_ms + length_ms
        store.disconnect()
        if length_ms > timeout_ms:
            self._later(timeout_ms, store.expire)
        return f"{machine.node} for {length_ms} ms"

    # ---- brokers ----

    def _pick_broker(self) -> BrokerMachine | None:
        machines = self.world.machines
        up = [machines[b] for b in sorted(machines) if machines[b].is_up]
        allowed = min(self.faults.brokers_down_max, len(machines) - 2)
        if len(machines) - len(up) >= allowed:
            return None
        return self.luck.pick(up)

    def _any_broker(self) -> BrokerMachine | None:
        machines = self.world.machines
        up = [machines[b] for b in sorted(machines) if machines[b].is_up]
        return self.luck.pick(up) if up else None

    def _restart_later(self, machine: BrokerMachine, delay_ms: int) -> None:
        def restart() -> None:
            # a directory of a running broker stays failed: only a restart reads it again
            if not machine.is_up:
                machine.disks.failed.clear()
                machine.start()

        self._later(delay_ms, restart)

    def _crash_broker(self) -> str | None:
        machine = self._pick_broker()
        if machine is None:
            return None
        ends_ms = self.luck.between(0, self.faults.session_timeout_ms)
        down_ms = self.luck.between(500, self.faults.down_ms_max)
        machine.crash(session_ends_ms=ends_ms)
        self._restart_later(machine, down_ms)
        return f"{machine.node} for {down_ms} ms"

    def _bounce_broker(self) -> str | None:
        """Down and up again before anybody has looked."""
        machine = self._pick_broker()
        if machine is None:
            return None
        machine.crash()
        self._restart_later(machine, self.luck.between(0, 30))
        return machine.node

    def _shut_broker_down(self) -> str | None:
        machine = self._pick_broker()
        if machine is None:
            return None
        machine.shut_down()
        down_ms = self.luck.between(10_000, self.faults.down_ms_max)
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
        name = self.luck.pick(machine.disks.healthy)
        machine.process.fail_directory(name)
        self._later(
            self.luck.between(5_000, self.faults.down_ms_max), lambda: self._repair(machine)
        )
        return f"{machine.node} {name}"

    def _repair(self, machine: BrokerMachine) -> None:
        if machine.disks.failed:
            machine.crash()
            self._restart_later(machine, 500)

    def _slow_disk(self) -> str | None:
        machine = self._any_broker()
        if machine is None:
            return None
        resource = ("disk", machine.id, self.luck.pick(list(machine.disks.logs)))
        transfers = self.world.transfers
        transfers.set_capacity(resource, self.faults.slow_disk_bytes_per_second)
        length_ms = self.luck.between(1_000, self.faults.down_ms_max)
        self._later(length_ms, lambda: transfers.set_capacity(resource, DISK_BYTES_PER_SECOND))
        return f"{resource} for {length_ms} ms"

    def _jump_clock(self) -> str | None:
        machines: Sequence[BrokerMachine | ControllerMachine] = [
            *(self.world.machines[b] for b in sorted(self.world.machines)),
            *(self.world.candidates[c] for c in sorted(self.world.candidates)),
        ]
        machine = self.luck.pick(machines)
        most = self.faults.clock_jump_ms_max
        machine.skew_ms = self.luck.between(-most, most)
        return f"{machine.node} is off by {machine.skew_ms} ms"

    # ---- the network ----

    def _cut_link(self) -> str | None:
        network = self.world.network
        nodes = [self.world.machines[b].node for b in sorted(self.world.machines)]
        others = nodes + [self.world.candidates[c].node for c in sorted(self.world.candidates)]
        one = self.luck.pick(nodes)
        other = self.luck.pick([node for node in others if node != one])
        length_ms = self.luck.between(500, self.faults.cut_ms_max)
        network.cut(one, other)
        self._later(length_ms, lambda: network.heal(one, other))
        return f"{one} and {other} for {length_ms} ms"

    def _lose_messages(self) -> str | None:
        conditions = self.world.network.conditions
        conditions.loss = self.faults.loss
        self._later(
            self.luck.between(500, self.faults.loss_ms_max), lambda: setattr(conditions, "loss", 0)
        )
        return f"{self.faults.loss:.0%}"

    def _slow_network(self) -> str | None:
        conditions = self.world.network.conditions
        usual = Conditions().delay_ms_max
        conditions.delay_ms_max = self.faults.slow_delay_ms_max
        self._later(
            self.luck.between(500, self.faults.loss_ms_max),
            lambda: setattr(conditions, "delay_ms_max", usual),
        )
        return f"up to {conditions.delay_ms_max} ms"
