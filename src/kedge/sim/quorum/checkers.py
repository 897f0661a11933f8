"""The invariants of the quorum, checked after every step of every node.

The committed log is what the first node delivered to its state machine, offset by offset. All else
is compared with it: what other nodes deliver, snapshots, reads, and at the end all logs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from kedge.errors import InvariantViolated
from kedge.quorum.node import Fault, Node
from kedge.quorum.roles import Leader
from kedge.sim.quorum.disk import Disk
from kedge.sim.quorum.mutations import Entry
from kedge.sim.quorum.snapshots import voters_at


class CheckedProcess(Protocol):
    """What is checked of a node's process."""

    @property
    def id(self) -> int: ...
    @property
    def incarnation(self) -> int: ...
    @property
    def node(self) -> Node | None: ...
    @property
    def disk(self) -> Disk: ...
    @property
    def applied_end(self) -> int:
        """The offset up to which the state machine has the log."""
        ...


class CheckedCluster(Protocol):
    """What is checked of all nodes together."""

    @property
    def processes(self) -> Mapping[int, CheckedProcess]: ...
    @property
    def accepted_now(self) -> Sequence[int]: ...
    @property
    def acknowledged(self) -> Collection[object]: ...


class Checkers:
    """What has been seen so far, and the rules about it."""

    def __init__(self, cluster: CheckedCluster) -> None:
        self._cluster = cluster
        self.committed: list[Entry] = []
        self._index: dict[int, int] = {}  # base offset → place in the committed log
        self.end = 0  # of the committed log
        self.values: dict[object, int] = {}  # committed record → its offset
        self._leaders: dict[int, int] = {}
        self._epochs: Counter[int] = Counter()
        self._seen: dict[int, tuple[int, int]] = {}  # node → incarnation, high watermark
        self.checks: Counter[str] = Counter()

    def on_fault(self, node: int, fault: Fault) -> None:
        """No node may ever find the protocol broken."""
        raise InvariantViolated(f"node {node} stops: {fault.reason}")

    def on_step(self, process: CheckedProcess) -> None:
        """After a node's writes, before anything of the step is seen by others."""
        node = process.node
        assert node is not None
        role, me = node.role, process.id
        self.checks["steps"] += 1
        if role.epoch < self._epochs[me]:
            raise InvariantViolated(
                f"the epoch of node {me} falls from {self._epochs[me]} to {role.epoch}"
            )
        self._epochs[me] = role.epoch
        stored = process.disk.durable.election.epoch
        if stored != role.epoch and process.disk.is_synced_always:
            raise InvariantViolated(f"node {me} acts in epoch {role.epoch}, stored is {stored}")
        if isinstance(role, Leader):
            self._check_leader(me, role.epoch)
        high_watermark = role.high_watermark
        if high_watermark is not None:
            self._check_high_watermark(process, high_watermark)

    def _check_leader(self, me: int, epoch: int) -> None:
        known = self._leaders.setdefault(epoch, me)
        if known != me:
            raise InvariantViolated(f"nodes {known} and {me} both lead epoch {epoch}")

    def _check_high_watermark(self, process: CheckedProcess, now: int) -> None:
        me = process.id
        life, known = self._seen.get(me, (0, 0))
        if life == process.incarnation:
            if now < known:
                raise InvariantViolated(
                    f"the high watermark of node {me} falls from {known} to {now}"
                )
            if now == known:
                return
        self._seen[me] = (process.incarnation, now)
        node = process.node
        assert node is not None
        if isinstance(node.role, Leader) and now > self.end:
            self._check_majority(process, now)

    def _check_majority(self, process: CheckedProcess, committed: int) -> None:
        """A leader commits what the disks of a majority hold.

        In the step that appends a voters record, what was pending is committed by the set before.
        """
        self.checks["commits by a leader"] += 1
        assert process.node is not None
        epoch = process.node.log.end_of_epoch(process.node.role.epoch).epoch
        logs = {id_: p.disk.durable.log for id_, p in self._cluster.processes.items()}
        holders = {
            id_
            for id_, log in logs.items()
            if log.end >= committed and log.end_of_epoch(epoch).epoch == epoch
        }
        sets = [process.node.voters.ids, voters_at(process.node, committed).ids]
        if not any(len(holders.intersection(ids)) > len(ids) // 2 for ids in sets):
            raise InvariantViolated(
                f"node {process.id} commits up to {committed}, which is on the disks of "
                f"{sorted(holders)} of the voters {list(sets[0])}"
            )

    def on_committed(self, node: int, entry: Entry) -> None:
        """A batch reaches the state machine of a node."""
        base = entry.base
        self.checks["batches delivered"] += 1
        if base == self.end:
            self._index[base] = len(self.committed)
            self.committed.append(entry)
            self.end = entry.end
            self._note_values(entry)
            return
        place = self._index.get(base)
        known = None if place is None else self.committed[place]
        if known != entry:
            raise InvariantViolated(f"node {node} delivers {entry}, committed is {known}")

    def _note_values(self, entry: Entry) -> None:
        for position, value in enumerate(entry.records):
            if value in self.values:
                raise InvariantViolated(f"record {value} is committed twice")
            self.values[value] = entry.base + position

    def on_snapshot(self, node: int, entries: list[Entry]) -> None:
        """A node loads a snapshot."""
        self.checks["snapshots loaded"] += 1
        if entries != self.committed[: len(entries)]:
            raise InvariantViolated(f"node {node} loads a snapshot that was never committed")

    def on_read(self, node: int, entries: list[Entry]) -> None:
        """A client reads."""
        self.checks["reads"] += 1
        if entries != self.committed[: len(entries)]:
            last = entries[-1] if entries else None
            raise InvariantViolated(f"node {node} answers a read with {last}, not committed")

    def unmet_conditions(self) -> list[str]:
        """What is missing for a quorum without pending work."""
        processes = self._cluster.processes.values()
        nodes = [process.node for process in processes if process.node is not None]
        leaders = [node for node in nodes if isinstance(node.role, Leader)]
        if len(leaders) != 1:
            return [f"{len(leaders)} leaders"]
        unmet = [f"node {p.id} has not all" for p in processes if p.applied_end != self.end]
        lost = [value for value in self._cluster.accepted_now if value not in self.values]
        return [*unmet, *(f"record {value} is not committed" for value in lost)]

    def check_logs(self) -> None:
        """In the end all logs are equal, and acknowledged records are in them."""
        for value in self._cluster.acknowledged:
            if value not in self.values:
                raise InvariantViolated(f"record {value} was acknowledged and is lost")
        for process in self._cluster.processes.values():
            log = process.disk.durable.log
            kept = [Entry.of(batch) for batch in log.batches if batch.last < self.end]
            expected = [entry for entry in self.committed if entry.base >= log.start]
            if kept != expected:
                raise InvariantViolated(f"the log of node {process.id} differs from the committed")
