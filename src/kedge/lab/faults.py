"""What can be made to go wrong, by name; each is told what to on the lab's thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import isfinite

from kedge.errors import InvalidRequest, UnknownBroker
from kedge.lab.directories import Directories
from kedge.lab.seats import Seat
from kedge.lab.traffic import Traffic
from kedge.lab.world import LabWorld
from kedge.model import BrokerId
from kedge.sim.machines import BrokerMachine, broker_node

FOR_EVER_MS = 2**62
SLOW_FACTOR_MAX = 1e6

FAULTS: dict[str, tuple[str, ...]] = {
    "broker-crash": ("ID",),
    "broker-start": ("ID",),
    "broker-bounce": ("ID",),
    "slow-disk": ("ID", "FACTOR"),
    "partition-network": ("IDS",),
    "log-dir-failure": ("ID", "DIR"),
    "controller-failover": (),
    "heal": (),
}


class Faults:
    """Breaks things, and mends them. For the lab's thread.

    `listen` and `hang_up` open and close a broker's port; they are called where no lock is held.
    """

    def __init__(
        self,
        world: LabWorld,
        seats: dict[BrokerId, Seat],
        directories: Directories,
        traffic: Traffic,
    ) -> None:
        self.cut_off: set[BrokerId] = set()
        self._world = world
        self._seats = seats
        self._directories = directories
        self._traffic = traffic
        self.on_start: Callable[[BrokerId], object] = lambda _: None
        self.on_stop: Callable[[BrokerId], object] = lambda _: None

    def happen(self, kind: str, arguments: Sequence[str]) -> str:
        """Let a fault happen; what to tell of it."""
        wanted = FAULTS.get(kind)
        if wanted is None:
            raise InvalidRequest(f"{kind!r} cannot be injected", hint=f"one of {', '.join(FAULTS)}")
        if len(wanted) != len(arguments):
            form = " ".join((kind, *wanted))
            raise InvalidRequest(f"{kind} takes {len(wanted)} arguments", hint=f"write {form}")
        told = getattr(self, "_" + kind.replace("-", "_"))(*arguments)
        self._traffic.has_faults = bool(
            self.cut_off
            or self._world.roads.slowness
            or any(not m.is_up or m.disks.failed for m in self._world.machines.values())
        )
        return told

    # ---- brokers ----

    def _broker_crash(self, text: str) -> str:
        machine = self._machine(text)
        if not machine.is_up:
            raise InvalidRequest(f"broker {machine.id} is down already")
        self.crash(machine, session_ends_ms=self._world.lab.session_timeout_ms)
        return f"broker {machine.id} is gone"

    def _broker_start(self, text: str) -> str:
        machine = self._machine(text)
        if machine.is_up:
            raise InvalidRequest(f"broker {machine.id} is up already")
        self.start(machine)
        return f"broker {machine.id} starts"

    def _broker_bounce(self, text: str) -> str:
        machine = self._machine(text)
        self.crash(machine, session_ends_ms=0)
        self.start(machine)
        return f"broker {machine.id} was restarted"

    def crash(self, machine: BrokerMachine, *, session_ends_ms: int) -> None:
        """End a broker and its candidate at once; the store notices later."""
        self._directories.stop(machine.id)
        machine.crash(session_ends_ms=session_ends_ms)
        self._seats[machine.id].crash(session_ends_ms=session_ends_ms)
        self.on_stop(machine.id)

    def start(self, machine: BrokerMachine) -> None:
        """Start a broker and its candidate; a directory that failed is looked at anew."""
        machine.disks.failed.clear()
        self.on_start(machine.id)
        machine.start()
        self._seats[machine.id].start()
        self._directories.resume(machine.id)

    # ---- disks ----

    def _slow_disk(self, text: str, factor_text: str) -> str:
        machine = self._machine(text)
        try:
            factor = float(factor_text)
        except ValueError:
            factor = 0.0
        if not (isfinite(factor) and 1 <= factor <= SLOW_FACTOR_MAX):
            raise InvalidRequest(
                f"disks cannot be {factor_text} times slower", hint="write a number from 1 on"
            )
        self._world.roads.slow_down(machine.id, factor)
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
        self._directories.stop(machine.id)
        process.fail_directory(found[0])
        if not machine.disks.healthy:  # a broker without a directory ends (KIP-112)
            self.crash(machine, session_ends_ms=0)
        else:
            self._directories.resume(machine.id)
        return f"directory {found[0]} of broker {machine.id} has failed"

    # ---- the network ----

    def _partition_network(self, text: str) -> str:
        """Some brokers are among themselves; the store is with the others."""
        inside = [self._machine(part).id for part in text.split(",")]
        outside = [broker for broker in self._world.machines if broker not in inside]
        for one, other in product(inside, outside):
            self._world.network.cut(broker_node(one), broker_node(other))
        for broker in inside:
            self._cut_off(broker)
        return f"brokers {', '.join(map(str, inside))} are cut off"

    def _cut_off(self, broker: BrokerId) -> None:
        machine, seat = self._world.machines[broker], self._seats[broker]
        self.cut_off.add(broker)
        machine.cut_off_until_ms = FOR_EVER_MS
        seat.is_cut_off = True
        for store in (machine.store, seat.store):
            if store is not None:
                store.disconnect()

        def forget() -> None:
            if broker in self.cut_off:
                for store in (machine.store, seat.store):
                    if store is not None:
                        store.expire()

        self._world.clock.after(self._world.lab.session_timeout_ms, forget)

    def _heal(self) -> str:
        """The network is whole, disks are fast, failed directories are replaced."""
        self._world.network.heal_all()
        for broker in self.cut_off:
            machine, seat = self._world.machines[broker], self._seats[broker]
            machine.cut_off_until_ms, seat.is_cut_off = 0, False
            for store in (machine.store, seat.store):
                if store is not None:
                    store.reconnect()
        self.cut_off.clear()
        for broker in list(self._world.roads.slowness):
            self._world.roads.slow_down(broker, 1.0)
        for machine in self._world.machines.values():
            if machine.is_up and machine.disks.failed:
                self.crash(machine, session_ends_ms=0)
                self.start(machine)
        return "the network is whole and the disks are as they were"

    # ---- controllers ----

    def _controller_failover(self) -> str:
        """The store forgets the controller; another candidate takes over."""
        holder = self._world.truth.controller
        seat = None if holder is None else self._seats.get(holder)
        if seat is None or seat.store is None:
            raise InvalidRequest("there is no controller to take the role from", hint="wait")
        seat.store.expire()
        return f"controller {seat.id} has lost its role"

    def _machine(self, text: str) -> BrokerMachine:
        try:
            broker = BrokerId(int(text))
            return self._world.machines[broker]
        except (ValueError, KeyError):
            first, last = min(self._world.machines), max(self._world.machines)
            hint = f"brokers here are {first} to {last}"
            raise UnknownBroker(f"there is no broker {text!r}", hint=hint) from None
