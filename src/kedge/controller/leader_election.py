"""Elects partition leaders: four strategies, each as a choice and as a full result.

A *choice* returns a broker or None. An *election* returns the leadership to store (the leader epoch
one higher, even when nothing else changes) and the brokers to notify.

    strategy             leader                                  ISR after it       recipients
    offline              first replica live and in the ISR;      its live members   live replicas
                         else, if unclean, first live replica    or the leader
    reassign             first of the target live and in ISR     as it was          the target
    preferred            the first replica, if live and in ISR   as it was          all replicas
    controlled shutdown  first replica that is registered, in    without those      registered
                         the ISR and not shutting down           shutting down      replicas

Sources: KIP-106 and KIP-460 (unclean and preferred elections), KIP-455 (reassign), KIP-704 (a
leader chosen uncleanly is marked as recovering).
"""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass
from enum import Enum

from kedge.model import NO_LEADER, BrokerId, Leadership, Recovery, ReplicaAssignment
from kedge.model.partition import without


class Strategy(Enum):
    """The rule by which a leader is chosen."""

    OFFLINE = "offline"  # the old leader is offline
    REASSIGN = "reassign"  # the old leader is not part of the new assignment
    PREFERRED = "preferred"  # back to the first replica
    CONTROLLED_SHUTDOWN = "controlled_shutdown"  # the leader is shutting down


@dataclass(frozen=True, slots=True)
class Elected:
    """The result of an election; None if no replica is eligible."""

    leadership: Leadership | None
    recipients: tuple[BrokerId, ...]


Ids = Container[BrokerId]


# ---- choices ---------------------------------------------------------------------------------


def choose_offline(
    replicas: Sequence[BrokerId], isr: Ids, live: Ids, *, unclean: bool
) -> BrokerId | None:
    """Return the first replica that is live and in sync, or if allowed, the first live one."""
    clean = choose_in_sync(replicas, isr, live)
    if clean is not None or not unclean:
        return clean
    return next((b for b in replicas if b in live), None)


def choose_in_sync(replicas: Sequence[BrokerId], isr: Ids, live: Ids) -> BrokerId | None:
    """Return the first replica that is live and in sync (also for a reassignment)."""
    for broker in replicas:
        if broker in isr and broker in live:
            return broker
    return None


def choose_preferred(replicas: Sequence[BrokerId], isr: Ids, live: Ids) -> BrokerId | None:
    """Return the first replica if it is live and in sync, else None."""
    return choose_in_sync(replicas[:1], isr, live)


def choose_for_shutdown(
    replicas: Sequence[BrokerId], isr: Ids, registered: Ids, shutting_down: Ids
) -> BrokerId | None:
    """Return the first registered replica in sync that is not shutting down."""
    staying = [b for b in replicas if b not in shutting_down]
    return choose_in_sync(staying, isr, registered)


# ---- elections -------------------------------------------------------------------------------


def elect_offline(
    now: Leadership,
    replicas: Sequence[BrokerId],
    live: Ids,
    *,
    unclean: bool,
    marks_recovery: bool,
) -> Elected:
    """Replace a leader that is offline. `live` are the brokers whose replica is online.

    An unclean leader starts a new ISR and is marked as recovering if the protocol supports it;
    otherwise the mark stays as it was.
    """
    recipients = tuple(b for b in replicas if b in live)
    leader = choose_offline(replicas, now.isr, live, unclean=unclean)
    if leader is None:
        return Elected(None, recipients)
    if leader in now.isr:
        return Elected(succeed(now, leader, tuple(b for b in now.isr if b in live)), recipients)
    recovery = Recovery.RECOVERING if marks_recovery else now.recovery
    return Elected(succeed(now, leader, (leader,))._replace(recovery=recovery), recipients)


def elect_reassigned(
    now: Leadership, assignment: ReplicaAssignment, live: Ids, *, leave_behind: bool = False
) -> Elected:
    """Move leadership into the target of a reassignment.

    The ISR stays, unless `leave_behind` removes the leaving replicas from it at once.
    """
    target = assignment.target
    leader = choose_in_sync(target, now.isr, live)
    isr = tuple(b for b in now.isr if b in target) if leave_behind else now.isr
    return Elected(None if leader is None else succeed(now, leader, isr), target)


def elect_preferred(now: Leadership, replicas: Sequence[BrokerId], live: Ids) -> Elected:
    """Move leadership to the first replica; the ISR stays."""
    leader = choose_preferred(replicas, now.isr, live)
    return Elected(None if leader is None else succeed(now, leader, now.isr), tuple(replicas))


def elect_for_shutdown(
    now: Leadership,
    replicas: Sequence[BrokerId],
    registered: Ids,
    shutting_down: Collection[BrokerId],
) -> Elected:
    """Move leadership off brokers that are shutting down, and remove all of those from the ISR.

    A dead broker in the ISR stays there: another event removes it.
    """
    recipients = tuple(b for b in replicas if b in registered)
    leader = choose_for_shutdown(replicas, now.isr, registered, shutting_down)
    if leader is None:
        return Elected(None, recipients)
    return Elected(succeed(now, leader, without(now.isr, tuple(shutting_down))), recipients)


def succeed(now: Leadership, leader: BrokerId, isr: tuple[BrokerId, ...]) -> Leadership:
    """Return the next leadership, with the leader epoch one higher."""
    return Leadership(
        leader, isr, now.leader_epoch + 1, now.partition_epoch, now.controller_epoch, now.recovery
    )


def without_replica(now: Leadership, broker: BrokerId) -> Leadership:
    """Return the leadership after a replica has left the ISR.

    The last member of an ISR stays in it: it is the only one known to hold all data. If the replica
    was the leader, there is no leader.
    """
    leader = NO_LEADER if now.leader == broker else now.leader
    isr = now.isr if len(now.isr) == 1 else without(now.isr, (broker,))
    return succeed(now, leader, isr)
