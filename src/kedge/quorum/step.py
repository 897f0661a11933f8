"""The machine: `start` a node from what is on its disk, then `step` it through events."""

from __future__ import annotations

from dataclasses import replace

from kedge.quorum import elections, leading, polling, requests, responses, voter_changes
from kedge.quorum.log import Log
from kedge.quorum.node import (
    Append,
    Appended,
    DeleteBefore,
    DeleteLogBefore,
    Event,
    Failed,
    Node,
    Ready,
    Refusal,
    RefusalKind,
    Request,
    Resign,
    Response,
    Shutdown,
    SnapshotTaken,
    StoreElection,
    Tick,
    UpgradeKRaftVersion,
    VersionAt,
    VotersAt,
)
from kedge.quorum.roles import (
    Candidate,
    Follower,
    Leader,
    Resigned,
    Role,
    Unattached,
    election_of,
)
from kedge.quorum.values import Draw, Election, QuorumConfig, VoterSet
from kedge.quorum.working import ProtocolFault, Working


def start(
    config: QuorumConfig,
    log: Log,
    election: Election,
    voters: VoterSet,
    *,
    now: int,
    draw: Draw,
    kraft_version: int = 0,
    voters_offset: int = leading.NO_OFFSET,
) -> tuple[Node, Ready]:
    """A node from its disk: the log, `quorum-state`, and the voters of the configuration.

    With a kraft.version, `voters` are those of the newest snapshot, whose last offset is
    `voters_offset`; the checkpoint that the format step writes has none.
    """
    waiting = Unattached(0, None, None, None, None)  # a place holder until the state is known
    history = (VotersAt(voters_offset, voters),) if kraft_version else ()
    versions = (VersionAt(voters_offset, kraft_version),) if kraft_version else ()
    work = Working(Node(config, waiting, log, voters, history, versions), now, draw)
    work.has_listener = False
    work.note_control_records(log.batches)
    work.role = _first_role(work, election)
    work.writes.append(StoreElection(election_of(work.role)))
    if work.voters.is_only_voter(config.key) and not isinstance(work.role, Candidate | Leader):
        elections.to_prospective(work)
    elif isinstance(work.role, Candidate):
        elections.on_candidate(work)
    work.has_listener = True
    polling.settle(work)
    return work.finished()


def _first_role(work: Working, stored: Election) -> Role:
    config, voters, epoch = work.config, work.voters, stored.epoch
    if epoch < work.log.last_epoch:
        return Unattached(work.log.last_epoch, None, None, None, work.election_deadline())
    if stored.leader_id == config.node_id:
        others = frozenset(voter for voter in voters.ids if voter != config.node_id)
        deadline = work.election_deadline()
        return Resigned(epoch, config.node_id, config.endpoints, others, (), deadline)
    if stored.leader_id is None and stored.voted and stored.voted.admits(config.key):
        votes = {voter: True if voter == config.node_id else None for voter in voters.ids}
        return Candidate(epoch, config.key, None, work.election_deadline(), votes)
    leader_id = stored.leader_id
    if leader_id is not None and (endpoints := voters.endpoints(leader_id)):
        deadline = work.now + config.fetch_timeout_ms
        return Follower(epoch, leader_id, endpoints, stored.voted, None, deadline, deadline)
    return Unattached(epoch, leader_id, stored.voted, None, work.election_deadline())


def step(node: Node, event: Event, *, now: int, draw: Draw) -> tuple[Node, Ready]:
    """The node after an event, and what has to be done.

    After a fault the node is what it was when the fault was found; only its end is left to do.
    """
    work = Working(node, now, draw)
    leading.expire_parked(work)
    try:
        _handle(work, event)
        if not isinstance(work.outcome, Refusal):
            polling.settle(work)
    except ProtocolFault as problem:
        return work.finished(problem.fault)
    return work.finished()


def _handle(work: Working, event: Event) -> None:
    match event:
        case Tick():
            pass
        case Request():
            requests.handle(work, event)
        case Response():
            responses.handle(work, event)
        case Failed():
            responses.handle_failure(work, event)
        case Append():
            work.outcome = _append(work, event)
        case Resign():
            work.outcome = _resign(work, event)
        case Shutdown():
            work.is_shutting_down = True
        case SnapshotTaken():
            work.log = work.log.with_snapshot(event.snapshot)
        case DeleteBefore():
            work.log = work.log.deleted_before(event.snapshot_id)
            work.writes.append(DeleteLogBefore(event.snapshot_id))
        case UpgradeKRaftVersion():
            work.outcome = voter_changes.upgrade(work, event)


def _append(work: Working, append: Append) -> Appended | Refusal:
    role = work.role
    if not isinstance(role, Leader):
        return Refusal(RefusalKind.NOT_LEADER, "this node is not the leader")
    if not append.records:
        return Refusal(RefusalKind.INVALID, "there are no records to append")
    if append.epoch < role.epoch:
        return Refusal(
            RefusalKind.NOT_LEADER, f"epoch {append.epoch} is over, the current is {role.epoch}"
        )
    if append.epoch > role.epoch:
        return Refusal(RefusalKind.INVALID, f"epoch {append.epoch} has not begun")
    pending = role.pending
    last = pending.next_offset + len(append.records) - 1
    deadline = pending.deadline
    pending = replace(
        pending,
        next_offset=last + 1,
        appends=(*pending.appends, append.records),
        sizes=(*pending.sizes, append.size),
        deadline=work.now + work.config.append_linger_ms if deadline is None else deadline,
    )
    work.role = replace(role, pending=pending)
    return Appended(last)


def _resign(work: Working, resign: Resign) -> Refusal | None:
    role = work.role
    if resign.epoch < 0 or resign.epoch > role.epoch:
        return Refusal(RefusalKind.INVALID, f"there is no epoch {resign.epoch} to resign from")
    if resign.epoch == role.epoch:
        if role.leader_id != work.config.node_id:
            return Refusal(RefusalKind.INVALID, f"this node does not lead epoch {role.epoch}")
        if isinstance(role, Leader):
            work.role = replace(role, resign_requested=True)
    return None
