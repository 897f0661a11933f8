"""What a node does by itself: when a deadline has passed, and whenever a peer can be asked."""

from __future__ import annotations

from dataclasses import replace

from kedge.quorum import connections as links
from kedge.quorum import elections, leading, voter_changes
from kedge.quorum.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    UpdateVoterRequest,
    VoteRequest,
)
from kedge.quorum.node import Node
from kedge.quorum.roles import (
    Candidate,
    Follower,
    Leader,
    Nominee,
    Prospective,
    Resigned,
    Unattached,
    is_lost,
)
from kedge.quorum.working import Working

_ROUNDS_MAX = 100  # every round changes the state or sends; far fewer are ever needed


def settle(work: Working) -> None:
    """Poll until there is nothing left to do at this moment."""
    for _ in range(_ROUNDS_MAX):
        work.has_changed = False
        _poll(work)
        work.deliver()
        work.announce_leader()
        if not work.has_changed:
            return
    raise AssertionError(f"{work.role} does not settle")


def _poll(work: Working) -> None:
    match work.role:
        case Leader() as role:
            _poll_leader(work, role)
        case Prospective() | Candidate() as role:
            _poll_nominee(work, role)
        case Follower() as role:
            _poll_follower(work, role)
        case Unattached() as role:
            _poll_unattached(work, role)
        case Resigned() as role:
            _poll_resigned(work, role)


def _poll_leader(work: Working, role: Leader) -> None:
    is_alone = len(role.voters) == 1
    is_cut_off = not is_alone and role.check_quorum_deadline <= work.now
    if work.is_shutting_down or role.resign_requested or is_cut_off:
        elections.to_resigned(work, leading.successors(role))
        return
    voter_changes.expire(work)
    if role.pending.deadline is not None and role.pending.deadline <= work.now:
        leading.drain(work)
    role = leading.leader(work)
    if role.begin_epoch_deadline <= work.now:
        me, epoch, config = role.leader_id, role.epoch, work.config
        for voter in reversed(work.voters.all):
            if voter.key.id != me:
                work.send(
                    voter.key.id,
                    BeginQuorumEpochRequest(
                        me, epoch, voter.key, config.endpoints, config.cluster_id
                    ),
                )
        deadline = work.now + config.begin_epoch_period_ms
        work.role = replace(leading.leader(work), begin_epoch_deadline=deadline)


def _poll_nominee(work: Working, role: Nominee) -> None:
    if role.election_deadline <= work.now and not work.is_shutting_down:
        if isinstance(role, Candidate):
            elections.to_prospective(work)
        else:
            elections.after_lost_pre_vote(work, role)
        return
    if is_lost(role.votes):
        return
    is_pre_vote = isinstance(role, Prospective)
    for voter in reversed(work.voters.all):
        if role.votes.get(voter.key.id, True) is None:
            work.send(
                voter.key.id,
                VoteRequest(
                    work.config.key,
                    role.epoch,
                    work.log.position,
                    is_pre_vote,
                    voter.key,
                    work.config.cluster_id,
                ),
            )


def _poll_follower(work: Working, role: Follower) -> None:
    if not work.is_voter:
        if role.fetch_deadline <= work.now:
            _fetch_from_bootstrap(work)
        else:
            _fetch_from_leader(work, role)
    elif work.is_shutting_down:
        return
    elif role.fetch_deadline <= work.now:
        elections.to_prospective(work)
    elif role.update_voter_deadline > work.now:
        _fetch_from_leader(work, role)
    elif not _should_update_voter(work, role):
        _fetch_from_leader(work, role)
        _restart_update_period(work)
    elif work.send(role.leader_id, _update_voter_request(work)):
        _restart_update_period(work)


def _should_update_voter(work: Working, role: Follower) -> bool:
    if work.kraft_version == 0:
        return not role.has_updated_leader
    return work.voters.get(work.config.node_id) != work.config.voter


def _restart_update_period(work: Working) -> None:
    role = work.role
    assert isinstance(role, Follower)
    work.role = replace(role, update_voter_deadline=work.now + work.config.fetch_timeout_ms)


def _poll_unattached(work: Working, role: Unattached) -> None:
    if work.is_voter and work.is_shutting_down:
        return
    deadline = role.election_deadline
    if work.is_voter and deadline is not None and deadline <= work.now:
        elections.to_prospective(work)
    else:
        _fetch_from_bootstrap(work)


def _poll_resigned(work: Working, role: Resigned) -> None:
    config = work.config
    request = EndQuorumEpochRequest(
        config.node_id, role.epoch, role.preferred, config.endpoints, config.cluster_id
    )
    for voter in sorted(role.unacknowledged, reverse=True):
        if voter in work.voters:
            work.send(voter, request)
    if role.election_deadline <= work.now and not work.is_shutting_down:
        elections.to_unattached(work, role.epoch + 1, None)


# ------------------------------------------------------------------------------------- fetching


def _fetch_from_leader(work: Working, role: Follower) -> None:
    """Fetch from the leader, or while it does not answer from any bootstrap server."""
    leader_id, now, timeouts = role.leader_id, work.now, work.timeouts
    if links.has_timed_out(work.connections, leader_id, now, timeouts):
        work.disconnect(leader_id)
        _fetch_from_bootstrap(work)
    elif links.is_backing_off(work.connections, leader_id, now, timeouts):
        _fetch_from_bootstrap(work)
    else:
        work.connections = links.without_finished(work.connections, now, timeouts)
        if not links.has_any_in_flight(work.connections, now, timeouts):
            work.send(leader_id, _next_fetch(work, role))


def _fetch_from_bootstrap(work: Working) -> None:
    """Ask a server that may know the leader; a drawn one, so that not all ask the same."""
    work.connections = links.without_finished(work.connections, work.now, work.timeouts)
    servers = work.config.bootstrap
    if not servers or links.has_any_in_flight(work.connections, work.now, work.timeouts):
        return
    first = work.draw(len(servers))
    for server in servers[first:] + servers[:first]:
        if links.is_ready(work.connections, server, work.now, work.timeouts):
            work.send(server, _fetch_request(work))
            return


def _next_fetch(work: Working, role: Follower) -> FetchRequest | FetchSnapshotRequest:
    if role.fetching_snapshot is None:
        return _fetch_request(work)
    config = work.config
    return FetchSnapshotRequest(
        config.key,
        role.epoch,
        role.fetching_snapshot,
        role.snapshot_position,
        config.fetch_max_bytes,
        config.cluster_id,
    )


def _fetch_request(work: Working) -> FetchRequest:
    config, log = work.config, work.log
    return FetchRequest(
        work.key,
        work.role.epoch,
        log.end,
        log.last_epoch,
        work.role.high_watermark,
        config.fetch_max_wait_ms,
        config.fetch_max_bytes,
        config.cluster_id,
    )


def _update_voter_request(work: Working) -> UpdateVoterRequest:
    config = work.config
    return UpdateVoterRequest(
        config.key,
        work.role.epoch,
        config.endpoints,
        config.kraft_version_min,
        config.kraft_version_max,
        config.cluster_id,
    )


# ------------------------------------------------------------------------------------- deadlines


def next_deadline(node: Node, now: int) -> int | None:
    """When the node needs a `Tick` at the latest; None if only an event can change anything.

    Deadlines that have passed are over with: the last step has acted on them.
    """
    role, config = node.role, node.config
    due: list[int | None] = [parked.deadline for parked in node.parked]
    timeouts = links.Timeouts(config.request_timeout_ms, config.retry_backoff_ms)
    due.append(links.next_deadline(node.connections, now, timeouts))
    is_voter = node.voters.is_voter(config.key)
    match role:
        case Leader():
            due += [role.begin_epoch_deadline, role.pending.deadline]
            due.append(role.check_quorum_deadline if len(role.voters) > 1 else None)
            due.append(role.change.deadline if role.change else None)
        case Follower():
            due.append(role.fetch_deadline)
            due.append(role.update_voter_deadline if is_voter else None)
        case Unattached():
            due.append(role.election_deadline if is_voter else None)
        case _:
            due.append(role.election_deadline)
    return min((at for at in due if at is not None and at > now), default=None)
