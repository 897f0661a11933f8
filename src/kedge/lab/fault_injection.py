"""Injects faults into a lab by name, and repairs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import isfinite

from kedge.errors import InvalidRequest, UnknownBroker
from kedge.lab.controller_candidates import ControllerCandidate
from kedge.lab.lab_cluster import LabCluster
from kedge.lab.log_dirs import LogDirs
from kedge.lab.traffic_generator import TrafficGenerator
from kedge.model import BrokerId
from kedge.sim.broker_machine import BrokerMachine, broker_node

FOREVER_MS = 2**62
SLOW_FACTOR_MAX = 1e6

FAULTS: Mapping[str, tuple[str, ...]] = {  # an argument in brackets may be left out
    "broker-crash": ("ID",),
    "broker-start": ("ID",),
    "broker-bounce": ("ID",),
    "slow-disk": ("ID", "FACTOR"),
    "partition-network": ("IDS",),
    "log-dir-failure": ("ID", "DIR"),
    "controller-failover": (),
    "heal": (),
}


class FaultInjector:
    """Injects and repairs faults. For the lab's thread.

    `on_start` and `on_stop` open and close a broker's port.
    """

    kinds = FAULTS

    def __init__(
        self,
        cluster: LabCluster,
        candidates: dict[BrokerId, ControllerCandidate],
        log_dirs: LogDirs,
        traffic: TrafficGenerator,
    ) -> None:
        self.cut_off: set[BrokerId] = set()
        self._cluster = cluster
        self._candidates = candidates
        self._log_dirs = log_dirs
        self._traffic = traffic
        self.on_start: Callable[[BrokerId], object] = lambda _: None
        self.on_stop: Callable[[BrokerId], object] = lambda _: None

    def inject(self, kind: str, arguments: Sequence[str]) -> str:
        """Inject a fault; returns a sentence about its effect."""
        wanted = self.kinds.get(kind)
        if wanted is None:
            raise InvalidRequest(f"unknown fault {kind!r}", hint=f"one of {', '.join(self.kinds)}")
        needed = [name for name in wanted if not name.startswith("[")]
        if not len(needed) <= len(arguments) <= len(wanted):
            form = " ".join((kind, *wanted))
            raise InvalidRequest(f"{kind} takes {len(wanted)} arguments", hint=f"write {form}")
        effect = getattr(self, "_" + kind.replace("-", "_"))(*arguments)
        self._traffic.has_faults = bool(
            self.cut_off
            or self._cluster.bandwidth.slowdown
            or any(not m.is_up or m.disks.failed for m in self._cluster.machines.values())
        )
        return effect

    # ---- brokers ----

    def _broker_crash(self, text: str) -> str:
        machine = self._machine(text)
        if not machine.is_up:
            raise InvalidRequest(f"broker {machine.id} is already down")
        self.crash(machine, session_ends_ms=self._cluster.lab.session_timeout_ms)
        return f"broker {machine.id} has crashed"

    def _broker_start(self, text: str) -> str:
        machine = self._machine(text)
        if machine.is_up:
            raise InvalidRequest(f"broker {machine.id} is already up")
        self.start(machine)
        return f"broker {machine.id} is starting"

    def _broker_bounce(self, text: str) -> str:
        machine = self._machine(text)
        self.crash(machine, session_ends_ms=0)
        self.start(machine)
        return f"broker {machine.id} was restarted"

    def crash(self, machine: BrokerMachine, *, session_ends_ms: int) -> None:
        """End a broker and its controller candidate; their sessions end after a delay."""
        self._log_dirs.pause(machine.id)
        machine.crash(session_ends_ms=session_ends_ms)
        self._candidates[machine.id].crash(session_ends_ms=session_ends_ms)
        self.on_stop(machine.id)

    def start(self, machine: BrokerMachine) -> None:
        """Start a broker and its controller candidate, with all directories readable again."""
        machine.disks.failed.clear()
        self.on_start(machine.id)
        machine.start()
        self._candidates[machine.id].start()
        self._log_dirs.resume(machine.id)

    # ---- disks ----

    def _slow_disk(self, text: str, factor_text: str) -> str:
        machine = self._machine(text)
        try:
            factor = float(factor_text)
        except ValueError:
            factor = 0.0
        if not (isfinite(factor) and 1 <= factor <= SLOW_FACTOR_MAX):
            raise InvalidRequest(
                f"disks cannot be {factor_text} times slower", hint="use a factor of at least 1"
            )
        self._cluster.bandwidth.slow_down(machine.id, factor)
        return f"the disks of broker {machine.id} are {factor:g} times slower"

    def _log_dir_failure(self, text: str, name: str) -> str:
        machine = self._machine(text)
        process, paths = machine.process, list(machine.disks.logs)
        found = [path for path in paths if name in (path, path.rsplit("/", 1)[-1])]
        if not found:
            hint = f"it has {', '.join(paths)}"
            raise InvalidRequest(f"broker {machine.id} has no directory {name!r}", hint=hint)
        if process is None:
            raise InvalidRequest(f"broker {machine.id} is down")
        self._log_dirs.pause(machine.id)
        process.fail_directory(found[0])
        if not machine.disks.healthy:  # a broker without a readable directory ends (KIP-112)
            self.crash(machine, session_ends_ms=0)
        else:
            self._log_dirs.resume(machine.id)
        return f"directory {found[0]} of broker {machine.id} has failed"

    # ---- the network ----

    def _partition_network(self, text: str) -> str:
        """Separate some brokers from the others and from the store."""
        inside = [self._machine(part).id for part in text.split(",")]
        outside = [broker for broker in self._cluster.machines if broker not in inside]
        for one, other in product(inside, outside):
            self._cluster.network.cut(broker_node(one), broker_node(other))
        for broker in inside:
            self._cut_off(broker)
        return f"brokers {', '.join(map(str, inside))} are disconnected"

    def _cut_off(self, broker: BrokerId) -> None:
        machine, candidate = self._cluster.machines[broker], self._candidates[broker]
        self.cut_off.add(broker)
        machine.cut_off_until_ms = FOREVER_MS
        candidate.is_cut_off = True
        for store in (machine.store, candidate.store):
            if store is not None:
                store.disconnect()

        def expire_sessions() -> None:
            if broker in self.cut_off:
                for store in (machine.store, candidate.store):
                    if store is not None:
                        store.expire()

        self._cluster.clock.after(self._cluster.lab.session_timeout_ms, expire_sessions)

    def _heal(self) -> str:
        """Reconnect the network, restore disk rates, restart brokers with failed directories."""
        self._cluster.network.heal_all()
        for broker in self.cut_off:
            self._reconnect(broker)
        self.cut_off.clear()
        for broker in list(self._cluster.bandwidth.slowdown):
            self._cluster.bandwidth.slow_down(broker, 1.0)
        for machine in self._cluster.machines.values():
            if machine.is_up and machine.disks.failed:
                self.crash(machine, session_ends_ms=0)
                self.start(machine)
        return "network and disks are restored"

    def _reconnect(self, broker: BrokerId) -> None:
        """Connect a broker and its candidate with the store again."""
        machine, candidate = self._cluster.machines[broker], self._candidates[broker]
        machine.cut_off_until_ms, candidate.is_cut_off = 0, False
        for store in (machine.store, candidate.store):
            if store is not None:
                store.reconnect()

    # ---- controllers ----

    def _controller_failover(self) -> str:
        """Expire the controller's session; another candidate takes over."""
        holder = self._cluster.metadata.controller
        candidate = None if holder is None else self._candidates.get(holder)
        if candidate is None or candidate.store is None:
            raise InvalidRequest("there is no active controller", hint="try again later")
        candidate.store.expire()
        return f"controller {candidate.id} has lost its session"

    def _machine(self, text: str) -> BrokerMachine:
        try:
            broker = BrokerId(int(text))
            return self._cluster.machines[broker]
        except (ValueError, KeyError):
            first, last = min(self._cluster.machines), max(self._cluster.machines)
            hint = f"the brokers are {first} to {last}"
            raise UnknownBroker(f"no broker {text!r}", hint=hint) from None
