"""Watches the brokers that moves go to: which are down, have lost a disk, or have no room.

A move waits while a broker that it needs is down, and does not start while no log directory of the
broker has room for it. What lasts longer than the run's patience is in vain: the run goes on
without these moves (`run_control`), and takes them up again if the cause goes away meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kedge.apply.observe import Found
from kedge.execution import MoveStatus, Statuses, Target
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change, PartitionReplica


class Obstacle(NamedTuple):
    """Why a move cannot be carried out now; moves with the same cause wait since the same time."""

    cause: str
    broker: BrokerId


@dataclass(slots=True)
class Destinations:
    """What keeps moves from their destinations, and since when."""

    changes: Sequence[Change]
    target: Target
    patience_s: float
    clock: Callable[[], float]
    _since: dict[Obstacle, float] = field(default_factory=dict[Obstacle, float])

    def in_vain(self, statuses: Statuses, found: Found) -> dict[TopicPartition, str]:
        """The moves that have waited for too long, with the reason."""
        now = self.clock()
        obstacles = {
            change.tp: list(self._obstacles(change, statuses[change.tp], found))
            for change in self.changes
        }
        present = {each for some in obstacles.values() for each in some}
        self._since = {each: self._since.get(each, now) for each in present}
        return {
            tp: f"{late[0].cause} for {time_text(now - self._since[late[0]])}"
            for tp, some in obstacles.items()
            if (late := [each for each in some if now - self._since[each] >= self.patience_s])
        }

    def _obstacles(
        self, change: Change, status: MoveStatus, found: Found
    ) -> Generator[Obstacle, None, None]:
        if status not in (MoveStatus.WAITING, MoveStatus.MOVING):
            return
        waits = status is MoveStatus.WAITING
        for broker in change.after if waits else change.added:
            if broker not in found.seen.alive:
                yield Obstacle(f"broker {broker} is down", broker)
        if not waits:
            return  # whether its log directory is the one that failed shows in its bytes
        for broker in change.added:
            for path in found.offline.get(broker, ()):
                yield Obstacle(f"log directory {path} on broker {broker} is offline", broker)
        for replica, path in self.target.log_dirs_of(change).items():
            if path in found.offline.get(replica.broker, ()):
                cause = f"log directory {path} on broker {replica.broker} is offline"
                yield Obstacle(cause, replica.broker)
        yield from self._without_room(change, found, {})

    def with_room(
        self, changes: Iterable[Change], statuses: Statuses, found: Found
    ) -> list[Change]:
        """The moves whose destinations have room for them, besides those that are under way."""
        taken: dict[BrokerId, int] = {}
        for change in self.changes:
            if statuses[change.tp] is MoveStatus.MOVING:
                for broker in change.added:
                    taken[broker] = taken.get(broker, 0) + _left(change, broker, found)
        chosen: list[Change] = []
        for change in changes:
            waits = statuses[change.tp] is MoveStatus.WAITING
            startable = waits and found.seen.alive.issuperset(change.after)
            if startable and any(self._without_room(change, found, taken)):
                continue
            chosen.append(change)
            for broker in change.added if startable else ():
                taken[broker] = taken.get(broker, 0) + _left(change, broker, found)
        return chosen

    def _without_room(
        self, change: Change, found: Found, taken: dict[BrokerId, int]
    ) -> Generator[Obstacle, None, None]:
        planned = self.target.log_dirs_of(change)
        for broker in change.added:
            usable = found.usable.get(broker, {})
            path = planned.get(PartitionReplica(*change.tp, broker))
            free = max(usable.values(), default=None) if path is None else usable.get(path)
            if free is not None and _left(change, broker, found) > free - taken.get(broker, 0):
                place = "no log directory" if path is None else f"no room in log directory {path}"
                cause = f"broker {broker} has {place}"
                yield Obstacle(
                    f"{cause} with room for it" if path is None else f"{cause} for it", broker
                )


def _left(change: Change, broker: BrokerId, found: Found) -> int:
    """The bytes of a move that its destination does not have yet."""
    here = found.sizes.replicas.get(PartitionReplica(*change.tp, broker), 0)
    return max(0, found.sizes.of_partition(change) - here)


def time_text(seconds: float) -> str:
    """`45 s`, `15 min`."""
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"
