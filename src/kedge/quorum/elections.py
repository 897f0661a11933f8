"""How a node changes its state: the transitions with all that they bring about."""

from __future__ import annotations

from kedge.model.error_codes import ErrorCode
from kedge.quorum import leading, pending_change
from kedge.quorum.node import FaultKind
from kedge.quorum.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Unattached,
    is_lost,
    is_won,
)
from kedge.quorum.values import Endpoints, ReplicaKey
from kedge.quorum.working import ProtocolFault, Working


def to_unattached(work: Working, epoch: int, leader_id: int | None) -> None:
    """Know no leader that could be followed.

    Who was already waiting for an election keeps the rest of that wait, so that hearing of higher
    epochs again and again cannot keep a node from standing.
    """
    role = work.role
    if epoch < role.epoch or (epoch == role.epoch and not isinstance(role, Prospective)):
        raise ProtocolFault(
            FaultKind.ILLEGAL_STATE, f"cannot be unattached in epoch {epoch} as {role.name}"
        )
    deadline = None
    if work.is_voter:
        is_lost_pre_vote = isinstance(role, Prospective) and is_lost(role.votes)
        if isinstance(role, Follower | Leader) or is_lost_pre_vote:
            deadline = work.election_deadline()
        else:
            deadline = role.election_deadline
    voted = role.voted if epoch == role.epoch else None
    pending_change.abandon(work)
    work.become(Unattached(epoch, leader_id, voted, role.high_watermark, deadline))
    work.announce_leader()
    work.reset_connections()


def to_follower(work: Working, epoch: int, leader_id: int, endpoints: Endpoints) -> None:
    """Follow the leader of an epoch."""
    role = work.role
    if not endpoints:
        raise ProtocolFault(
            FaultKind.ILLEGAL_ARGUMENT, f"no endpoint of leader {leader_id} is known"
        )
    has_all = isinstance(role, Follower) and len(role.leader_endpoints) >= len(endpoints)
    is_settled = epoch == role.epoch and (has_all or isinstance(role, Leader))
    if leader_id == work.config.node_id or epoch < role.epoch or is_settled:
        raise ProtocolFault(
            FaultKind.ILLEGAL_STATE,
            f"cannot follow {leader_id} in epoch {epoch} as {role.name} of epoch {role.epoch}",
        )
    pending_change.abandon(work)
    work.become(
        Follower(
            epoch,
            leader_id,
            endpoints,
            role.voted if epoch == role.epoch else None,
            role.high_watermark,
            work.now + work.config.fetch_timeout_ms,
            work.now + work.config.fetch_timeout_ms,
        )
    )
    work.announce_leader()
    work.reset_connections()
    leading.refuse_parked(work, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def to_prospective(work: Working) -> None:
    """Ask whether an election would be won; the only voter knows at once."""
    role = work.role
    if not work.is_voter or isinstance(role, Leader | Prospective):
        raise ProtocolFault(FaultKind.ILLEGAL_STATE, f"cannot be prospective as {role.name}")
    nominee = Prospective(
        role.epoch,
        role.leader_id,
        role.leader_endpoints,
        role.voted,
        role.high_watermark,
        work.election_deadline(),
        _own_vote(work),
    )
    work.become(nominee)
    if is_won(nominee.votes):
        to_candidate(work)
    else:
        work.reset_connections()


def to_candidate(work: Working) -> None:
    """Begin an epoch and vote for itself."""
    role = work.role
    if not work.is_voter or not isinstance(role, Prospective):
        raise ProtocolFault(FaultKind.ILLEGAL_STATE, f"cannot be candidate as {role.name}")
    work.become(
        Candidate(
            role.epoch + 1,
            work.config.key,
            role.high_watermark,
            work.election_deadline(),
            _own_vote(work),
        )
    )
    work.announce_leader()
    on_candidate(work)


def on_candidate(work: Working) -> None:
    """Lead if the own vote is enough, else ask the others."""
    role = work.role
    if isinstance(role, Candidate) and is_won(role.votes):
        to_leader(work)
    else:
        work.reset_connections()


def to_leader(work: Working) -> None:
    """Lead the epoch whose election was won; its first record says so."""
    role = work.role
    if not work.is_voter or not isinstance(role, Candidate) or not is_won(role.votes):
        raise ProtocolFault(FaultKind.ILLEGAL_STATE, f"cannot lead as {role.name}")
    work.become(leading.new_leader(work, role))
    work.log = work.log.with_epoch(role.epoch)
    work.reset_connections()
    granting = tuple(voter for voter, vote in role.votes.items() if vote)
    leading.append_start_of_epoch(work, granting)


def to_resigned(work: Working, preferred: tuple[ReplicaKey, ...]) -> None:
    """Give up the leadership, in memory only, and tell the voters."""
    role = work.role
    if not isinstance(role, Leader):
        raise ProtocolFault(FaultKind.ILLEGAL_STATE, f"cannot resign as {role.name}")
    leading.refuse_parked(work, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    pending_change.abandon(work)
    me = work.config.node_id
    work.become(
        Resigned(
            role.epoch,
            me,
            work.config.endpoints,
            frozenset(voter for voter in work.voters.ids if voter != me),
            preferred,
            work.election_deadline(),
        )
    )
    work.reset_connections()


def maybe_follow(work: Working, leader_id: int | None, epoch: int, endpoints: Endpoints) -> None:
    """Act on what a message says about the leader of an epoch.

    Two leaders of one epoch cannot be: rather than choose, the node stops.
    """
    role = work.role
    if leader_id is not None and leader_id == work.config.node_id:
        is_consistent = isinstance(role, Leader)
    else:
        is_consistent = epoch != role.epoch or None in (leader_id, role.leader_id)
        is_consistent = is_consistent or leader_id == role.leader_id
    if not is_consistent:
        raise ProtocolFault(
            FaultKind.ILLEGAL_STATE,
            f"a message names {leader_id} as leader of epoch {epoch}, "
            f"known is {role.leader_id} in epoch {role.epoch}",
        )
    if epoch > role.epoch:
        if leader_id is None:
            to_unattached(work, epoch, None)
        else:
            to_follower(work, epoch, leader_id, endpoints)
    elif leader_id is not None and (
        role.leader_id is None or len(endpoints) > len(role.leader_endpoints)
    ):
        to_follower(work, epoch, leader_id, endpoints)


def after_lost_pre_vote(work: Working, role: Prospective) -> None:
    """Go back to the leader, if it can be reached."""
    if role.leader_id is not None and role.leader_endpoints:
        to_follower(work, role.epoch, role.leader_id, role.leader_endpoints)
    else:
        to_unattached(work, role.epoch, role.leader_id)


def _own_vote(work: Working) -> dict[int, bool | None]:
    return {voter: True if voter == work.config.node_id else None for voter in work.voters.ids}
