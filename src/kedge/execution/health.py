"""Decides whether a cluster is healthy enough for more moves.

New moves wait while anything outside of the run is in trouble: partitions with replicas out of
sync, brokers that are down, log directories that are offline. Partitions of the plan are left out:
a plan may be made to repair them, and those under way are out of sync by nature. So is a replica
that any reassignment is adding. Those of the plan that are below `min.insync.replicas` are named
apart: they hold no moves back, and a throttle that adapts heeds them.

    orders-3   replicas 1,2,3   ISR 1,2     under-replicated; below its minimum if that is 3
    logs-0     replicas 1,2,4   ISR 1,2     4 is being added: healthy

What has been in trouble for long is given up (`GivenUp`): a broker that does not come back and a
log directory that stays offline hold no moves back, nor do partitions that miss only replicas on
these brokers. A partition below `min.insync.replicas` always does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kedge.execution.preconditions import counted, named
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change

Replicas = tuple[BrokerId, ...]


@dataclass(frozen=True, slots=True)
class PartitionHealth:
    """One partition; `adding` are the replicas that a reassignment adds."""

    tp: TopicPartition
    replicas: Replicas
    isr: Replicas
    adding: Replicas = ()

    @property
    def out_of_sync(self) -> frozenset[BrokerId]:
        """The brokers whose replica should be in sync and is not."""
        return frozenset(self.replicas) - frozenset(self.adding) - frozenset(self.isr)

    @property
    def under_replicated(self) -> bool:
        """Whether a replica that should be in sync is not."""
        return bool(self.out_of_sync)


class OfflineLogDir(NamedTuple):
    """A log directory that its broker cannot use."""

    path: str
    broker: BrokerId

    def __str__(self) -> str:
        return f"{self.path} on broker {self.broker}"


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Brokers that are down, and log directories that are offline, for so long that moves go on."""

    brokers: frozenset[BrokerId] = frozenset()
    log_dirs: frozenset[OfflineLogDir] = frozenset()

    @property
    def replicas_on(self) -> frozenset[BrokerId]:
        """The brokers whose replicas are not expected to be in sync."""
        return self.brokers | {each.broker for each in self.log_dirs}


NOTHING_GIVEN_UP = GivenUp()


def left_by(changes: Iterable[Change]) -> frozenset[BrokerId]:
    """The brokers that a plan takes replicas from and gives none to."""
    before: set[BrokerId] = set()
    after: set[BrokerId] = set()
    for change in changes:
        before.update(change.before)
        after.update(change.after)
    return frozenset(before - after)


@dataclass(frozen=True, slots=True)
class Health:
    """What is wrong with a cluster; all empty where nothing is.

    `given_up` is what is still in trouble and holds no moves back, nor do the partitions of the
    plan that are `planned_under_min_isr`.
    """

    under_replicated: tuple[TopicPartition, ...] = ()
    under_min_isr: tuple[TopicPartition, ...] = ()
    brokers_down: tuple[BrokerId, ...] = ()
    offline_log_dirs: tuple[OfflineLogDir, ...] = ()
    given_up: GivenUp = NOTHING_GIVEN_UP
    planned_under_min_isr: tuple[TopicPartition, ...] = ()

    @property
    def problems(self) -> list[str]:
        """Each kind of trouble as a phrase."""
        found: list[str] = []
        if self.brokers_down:
            one = len(self.brokers_down) == 1
            ids = ", ".join(map(str, self.brokers_down))
            found.append(f"{'broker' if one else 'brokers'} {ids} {'is' if one else 'are'} down")
        if self.under_min_isr:
            below = counted(self.under_min_isr, "partition")
            found.append(f"{below} below min.insync.replicas ({named(self.under_min_isr)})")
        if self.under_replicated:
            short = counted(self.under_replicated, "under-replicated partition")
            found.append(f"{short} ({named(self.under_replicated)})")
        if self.offline_log_dirs:
            dirs = counted(self.offline_log_dirs, "offline log directory")
            dirs = dirs.replace("directorys", "directories")
            found.append(f"{dirs} ({named(self.offline_log_dirs)})")
        return found

    def __bool__(self) -> bool:
        return not self.problems


def health_of(
    partitions: Iterable[PartitionHealth],
    alive: frozenset[BrokerId],
    min_isr: Mapping[str, int],
    offline_log_dirs: Iterable[OfflineLogDir],
    given_up: GivenUp = NOTHING_GIVEN_UP,
    planned: Iterable[PartitionHealth] = (),
) -> Health:
    """The health of the partitions outside of a run, and of those that are `planned`; `min_isr` by
    topic, where it is known.
    """
    outside = list(partitions)
    hosts = frozenset(broker for each in outside for broker in each.replicas)
    short = (each for each in outside if not each.out_of_sync <= given_up.replicas_on)
    down, offline = hosts - alive, frozenset(offline_log_dirs)
    return Health(
        _listed(short),
        _listed(each for each in outside if _is_below(each, min_isr)),
        tuple(sorted(down - given_up.brokers)),
        tuple(sorted(offline - given_up.log_dirs)),
        GivenUp(down & given_up.brokers, offline & given_up.log_dirs),
        _listed(each for each in planned if _is_below(each, min_isr)),
    )


def _is_below(partition: PartitionHealth, min_isr: Mapping[str, int]) -> bool:
    """Whether a partition that misses a replica has fewer in sync than its topic demands."""
    return partition.under_replicated and len(partition.isr) < min_isr.get(partition.tp.topic, 0)


def _listed(partitions: Iterable[PartitionHealth]) -> tuple[TopicPartition, ...]:
    return tuple(sorted((each.tp for each in partitions), key=_users_first))


def _users_first(tp: TopicPartition) -> tuple[bool, TopicPartition]:
    """Texts name the first few: partitions of internal topics come after those of users."""
    return tp.topic.startswith("__"), tp
