"""How one partition changes: what is wanted goes in, zero or one record comes out.

Every change of a partition takes this way, whatever asks for it. The steps are in this sequence:

    1  a reassignment whose whole target is in the ISR is finished
    2  eligible leader replicas (ELR, KIP-966) follow the ISR, if they are enabled
    3  a leader is elected
    4  the leader epoch is raised where a replica leaves
    5  the fields that differ are put into the record

Elections. A replica can lead if its broker is active and its directory online (`ok`), and if it is
in the ISR; with an empty ISR, if it is in the ELR. What is tried, in turn:

    ONLINE     the present leader · the first of the replicas · the last known leader
    PREFERRED  the first replica · the present leader · the first of the others · the last known one
    UNCLEAN    as ONLINE · any replica that is ok, in sync or not

Without ELR the last member of an ISR is never removed: only the leader is gone. With ELR the ISR
may be empty, and the last leader is remembered; it is elected uncleanly if nothing else is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from kedge.metadata import metadata_version
from kedge.metadata.ids import Uuid
from kedge.metadata.image import Partition, PartitionKey
from kedge.metadata.records import (
    LEADER_UNCHANGED,
    NO_LEADER,
    RECOVERING,
    RECOVERY_UNCHANGED,
    PartitionChangeRecord,
)

Item = TypeVar("Item")


class Election(Enum):
    """Which replicas are considered, and in which sequence."""

    ONLINE = "online"
    PREFERRED = "preferred"
    UNCLEAN = "unclean"


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for all partitions of a topic in one decision."""

    level: int
    elr: bool
    min_isr: int
    default_directory: Callable[[int], Uuid]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a partition should become; None is what it has now."""

    isr: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    recovery: int | None = None
    election: Election = Election.ONLINE
    unclean_shutdown: int | None = None
    """A broker that has restarted without a clean shutdown, and may have lost records."""
    directory: tuple[int, Uuid] | None = None
    """A replica and the directory that it is in."""


UNCHANGED = Wanted()


def changed(
    key: PartitionKey,
    now: Partition,
    wanted: Wanted,
    ok: Callable[[int], bool],
    rules: Rules,
) -> PartitionChangeRecord | None:
    """The record that makes the partition what is wanted, or None if nothing changes."""
    change = _Change(now, wanted, ok, rules)
    change.finish_reassignment()
    change.follow_isr()
    change.elect()
    change.raise_epoch_for_removed_replicas()
    change.note_isr()
    change.note_last_known_leader()
    return change.record(key)


class _Change:
    """One change in the making."""

    __slots__ = (
        "adding",
        "elr",
        "isr",
        "leader",
        "new_elr",
        "new_isr",
        "new_last_known",
        "now",
        "ok",
        "recovery",
        "removing",
        "replicas",
        "rules",
        "wanted",
    )

    def __init__(
        self, now: Partition, wanted: Wanted, ok: Callable[[int], bool], rules: Rules
    ) -> None:
        self.now, self.wanted, self.ok, self.rules = now, wanted, ok, rules
        self.isr = now.isr if wanted.isr is None else wanted.isr
        self.replicas = now.replicas if wanted.replicas is None else wanted.replicas
        self.removing = now.removing if wanted.removing is None else wanted.removing
        self.adding = now.adding if wanted.adding is None else wanted.adding
        self.elr = now.elr
        self.leader = LEADER_UNCHANGED
        self.recovery = RECOVERY_UNCHANGED
        self.new_isr: tuple[int, ...] | None = None
        self.new_elr: tuple[int, ...] | None = None
        self.new_last_known: tuple[int, ...] | None = None

    def finish_reassignment(self) -> None:
        """Take the target, once all of it is in the ISR."""
        if not self.removing and not self.adding:
            return
        isr = tuple(r for r in self.isr if r not in self.removing)
        replicas = tuple(r for r in self.replicas if r not in self.removing)
        if self.removing and not (isr and replicas):
            return
        if all(replica in isr for replica in replicas):
            self.isr, self.replicas, self.removing, self.adding = isr, replicas, (), ()

    def follow_isr(self) -> None:
        """Keep those that left an ISR which is now too small: they still have everything."""
        if not self.rules.elr:
            return
        if len(self.isr) >= self.rules.min_isr:
            self.elr = ()
            return
        candidates = sorted({*self.elr, *self.now.isr})
        lost = self.wanted.unclean_shutdown
        self.elr = tuple(r for r in candidates if r not in self.isr and r != lost)

    # ---- elections -------------------------------------------------------------------------------

    def elect(self) -> None:
        """Name a leader, if it is another one than now."""
        leader, unclean = self._elected()
        if leader == self.now.leader:
            return
        if leader in self.elr:
            self.isr = (leader,)
            self.elr = tuple(r for r in self.elr if r != leader)
        self.leader = leader
        if unclean:
            self.new_isr = (leader,)
            if self.now.recovery != RECOVERING:
                self.recovery = RECOVERING
            self.elr = ()

    def _elected(self) -> tuple[int, bool]:
        preferred = self.wanted.election is Election.PREFERRED
        if preferred and self._can_lead(self.replicas[0]):
            return self.replicas[0], False
        if self._can_lead(self.now.leader):
            return self.now.leader, False
        for replica in self.replicas[1:] if preferred else self.replicas:
            if self._can_lead(replica):
                return replica, False
        if (last := self._last_known_leader()) is not None:
            return last, True
        if self.wanted.election is Election.UNCLEAN:
            for replica in self.replicas:
                if self.ok(replica):
                    return replica, True
        return NO_LEADER, False

    def _can_lead(self, replica: int) -> bool:
        in_sync = replica in self.isr or (not self.isr and replica in self.elr)
        return in_sync and self.ok(replica)

    def _last_known_leader(self) -> int | None:
        """The last leader of a partition that has nothing else left."""
        known = self.now.last_known_elr
        if not self.rules.elr or self.elr or self.isr or len(known) != 1:
            return None
        return known[0] if self.ok(known[0]) else None

    def raise_epoch_for_removed_replicas(self) -> None:
        """Name the present leader again, so that its epoch grows and the removed ones see it."""
        if self.leader != LEADER_UNCHANGED or self.replicas is self.now.replicas:
            return
        if not set(self.now.replicas) <= set(self.replicas):
            self.leader = self.now.leader

    # ---- what the record says --------------------------------------------------------------------

    def note_isr(self) -> None:
        """The ISR and the ELR, where they differ; an ISR becomes empty only with ELR."""
        if not self.rules.elr:
            self.elr = ()
        if self.elr != self.now.elr:
            self.new_elr = self.elr
        if self.new_isr is None and self.isr != self.now.isr and (self.isr or self.rules.elr):
            self.new_isr = self.isr
        if (
            metadata_version.bumps_leader_epoch_on_shrink(self.rules.level)
            and self.leader == LEADER_UNCHANGED
            and self.new_isr is not None
            and not set(self.now.isr) <= set(self.new_isr)
        ):
            self.leader = self.now.leader

    def note_last_known_leader(self) -> None:
        """Remember the leader of a partition whose ISR becomes empty; forget it with the next."""
        if not self.rules.elr:
            return
        known = self.now.last_known_elr
        if self.new_isr == () and known != (self.now.leader,):
            self.new_last_known = (self.now.leader,)
        elif known and (self.leader >= 0 or (self.now.has_leader and self.leader != NO_LEADER)):
            self.new_last_known = ()

    def record(self, key: PartitionKey) -> PartitionChangeRecord | None:
        """All that differs, or None."""
        now, wanted = self.now, self.wanted
        recovery = self.recovery
        if wanted.recovery is not None and wanted.recovery != now.recovery:
            recovery = wanted.recovery
        made = PartitionChangeRecord(
            partition_id=key[1],
            topic_id=key[0],
            isr=self.new_isr,
            leader=self.leader,
            replicas=_if_other(self.replicas, now.replicas) if self.replicas else None,
            removing_replicas=_if_other(self.removing, now.removing),
            adding_replicas=_if_other(self.adding, now.adding),
            leader_recovery_state=recovery,
            eligible_leader_replicas=self.new_elr,
            last_known_elr=self.new_last_known,
            directories=self._directories(),
        )
        return None if _says_nothing(made) else made

    def _directories(self) -> tuple[Uuid, ...] | None:
        """Where the replicas are; a new one is where its broker puts new ones."""
        if not self.replicas or not metadata_version.has_directories(self.rules.level):
            return None
        now, moved = self.now, self.wanted.directory
        if moved is None and self.replicas == now.replicas:
            return None
        known = dict(zip(now.replicas, now.directories, strict=True))
        if moved is not None:
            known[moved[0]] = moved[1]
        default = self.rules.default_directory
        directories = tuple(known[r] if r in known else default(r) for r in self.replicas)
        return _if_other(directories, now.directories)


def _if_other(value: tuple[Item, ...], before: tuple[Item, ...]) -> tuple[Item, ...] | None:
    return None if value == before else value


def _says_nothing(record: PartitionChangeRecord) -> bool:
    return (
        record.leader == LEADER_UNCHANGED
        and record.leader_recovery_state == RECOVERY_UNCHANGED
        and record.isr is None
        and record.eligible_leader_replicas is None
        and record.last_known_elr is None
        and record.replicas is None
        and record.removing_replicas is None
        and record.adding_replicas is None
        and record.directories is None
    )
