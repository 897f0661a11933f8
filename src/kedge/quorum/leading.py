"""A leader's work: appends, the progress of replicas, the high watermark, waiting fetches."""

from __future__ import annotations

from dataclasses import replace

from kedge.model.error_codes import ErrorCode
from kedge.quorum import pending_change
from kedge.quorum.log import BOOTSTRAP_SNAPSHOT, Diverging, NeedsSnapshot, Valid
from kedge.quorum.messages import (
    FetchRequest,
    FetchResponse,
)
from kedge.quorum.node import AppendBatches, FaultKind, ParkedFetch
from kedge.quorum.roles import Accumulator, Candidate, Leader, Progress
from kedge.quorum.values import (
    Batch,
    ControlRecord,
    Endpoints,
    KRaftVersionChange,
    LeaderChange,
    ReplicaKey,
    VotersChange,
)
from kedge.quorum.working import ProtocolFault, Working

NO_OFFSET = -1  # of a voter set that comes from the checkpoint of the format


def new_leader(work: Working, candidate: Candidate) -> Leader:
    """The state of a leader at the start of its epoch."""
    config, voters = work.config, work.voters
    known = voters.replaced(config.voter) if work.kraft_version == 0 else None
    return Leader(
        candidate.epoch,
        config.node_id,
        config.endpoints,
        work.log.end,
        {voter.key.id: Progress(voter.key) for voter in voters.all},
        work.now + config.check_quorum_timeout_ms,
        work.now,
        Accumulator(work.log.end),
        known_voters=known,
    )


def leader(work: Working) -> Leader:
    """The state of this node, which leads."""
    assert isinstance(work.role, Leader)
    return work.role


# ------------------------------------------------------------------------------------- appending


def append_start_of_epoch(work: Working, granting: tuple[int, ...]) -> None:
    """Write the first batch of an epoch; nothing older is committed before it is."""
    me, voters = work.config.node_id, work.voters
    records: list[ControlRecord] = [LeaderChange(me, voters.ids, granting)]
    if work.kraft_version > 0 and work.voter_history:
        is_stale = voters.get(me) != work.config.voter
        if work.voter_history[-1].offset == NO_OFFSET or is_stale:
            records.append(KRaftVersionChange(work.kraft_version))
            records.append(VotersChange(voters.replaced(work.config.voter)))
    append_control(work, tuple(records))


def append_control(work: Working, records: tuple[ControlRecord, ...]) -> int:
    """Write pending appends and then a control batch; gives the offset of its last record."""
    drain(work)
    role = leader(work)
    batch = Batch(role.pending.next_offset, role.epoch, (), records)
    work.role = replace(role, pending=Accumulator(batch.last + 1))
    _write(work, (batch,))
    return batch.last


def drain(work: Working) -> None:
    """Write the pending appends, as many in a batch as its limit allows."""
    role = leader(work)
    pending = role.pending
    if not pending.appends:
        return
    batches: list[Batch] = []
    records: list[object] = []
    size, base = 0, work.log.end
    for append, bytes_ in zip(pending.appends, pending.sizes, strict=True):
        if records and size + bytes_ > work.config.batch_max_bytes:
            batches.append(Batch(base, role.epoch, tuple(records), size=size))
            base, records, size = batches[-1].last + 1, [], 0
        records.extend(append)
        size += bytes_
    batches.append(Batch(base, role.epoch, tuple(records), size=size))
    work.role = replace(role, pending=Accumulator(pending.next_offset))
    _write(work, tuple(batches))


def _write(work: Working, batches: tuple[Batch, ...]) -> None:
    work.log = work.log.appended(batches)
    work.writes.append(AppendBatches(batches))
    work.note_control_records(batches)
    work.has_changed = True
    _update_own_progress(work)
    retry_parked(work)


# ------------------------------------------------------------------------------------- progress


def _update_own_progress(work: Working) -> None:
    """The own log end counts for the high watermark; the voter set may have changed with it."""
    role = leader(work)
    known: dict[int, Progress] = {}
    observers = dict(role.observers)
    for voter in work.voters.all:
        progress = role.voters.get(voter.key.id)
        if progress is None or not progress.key.admits(voter.key):
            progress = observers.get(voter.key, Progress(voter.key))
        observers.pop(voter.key, None)
        known[voter.key.id] = replace(progress, key=voter.key)
    for voter_id, progress in role.voters.items():
        if voter_id not in known:
            observers.setdefault(progress.key, progress)
    me = work.config.node_id
    if me in known:
        known[me] = replace(known[me], log_end=work.log.end)
    work.role = replace(role, voters=known, observers=observers)
    _maybe_move_high_watermark(work)


def record_fetch(work: Working, key: ReplicaKey, offset: int) -> None:
    """A replica has fetched: its log reaches `offset`."""
    role = leader(work)
    if key.id < 0:
        return
    voter = role.voters.get(key.id)
    is_voter = voter is not None and voter.key.admits(key)
    progress = voter if voter is not None and is_voter else role.observers.get(key)
    progress = _advanced(progress or Progress(key), offset, work.log.end, work.now)
    if is_voter:
        work.role = replace(role, voters={**role.voters, key.id: progress})
        count_sign_of_life(work, key)
        _maybe_move_high_watermark(work)
    else:
        work.role = replace(role, observers={**role.observers, key: progress})


def _advanced(progress: Progress, offset: int, leader_end: int, now: int) -> Progress:
    caught_up = progress.last_caught_up_ms
    if offset >= leader_end:
        caught_up = max(caught_up, now)
    elif 0 < progress.last_fetch_leader_end <= offset:
        caught_up = max(caught_up, progress.last_fetch_ms)
    return Progress(progress.key, offset, max(progress.last_fetch_ms, now), leader_end, caught_up)


def count_sign_of_life(work: Working, key: ReplicaKey) -> None:
    """Check-quorum: a majority of voters must give such a sign within the timeout."""
    role = leader(work)
    if key.id == work.config.node_id:
        raise ProtocolFault(FaultKind.ILLEGAL_ARGUMENT, "the leader fetches from itself")
    voter = role.voters.get(key.id)
    if voter is None or not voter.key.admits(key):
        return
    fetched = role.fetched_voters | {key.id}
    needed = len(role.voters) // 2 + 1 - (work.config.node_id in role.voters)
    if len(fetched) >= needed:
        deadline = work.now + work.config.check_quorum_timeout_ms
        work.role = replace(role, fetched_voters=frozenset(), check_quorum_deadline=deadline)
    else:
        work.role = replace(role, fetched_voters=fetched)


def successors(role: Leader) -> tuple[ReplicaKey, ...]:
    """The other voters, the one with the longest log first."""
    others = [p for p in role.voters.values() if p.key.id != role.leader_id]
    ordered = sorted(others, key=lambda p: (p.log_end is None, -(p.log_end or 0), p.key.id))
    return tuple(progress.key for progress in ordered)


def _maybe_move_high_watermark(work: Working) -> None:
    """What a majority has is committed, once a record of this epoch is among it."""
    role = leader(work)
    ends = sorted(
        (-1 if progress.log_end is None else progress.log_end for progress in role.voters.values()),
        reverse=True,
    )
    reached = ends[len(ends) // 2]
    if reached <= role.epoch_start:
        return
    if role.high_watermark is not None and reached <= role.high_watermark:
        return
    work.role = replace(role, high_watermark=reached)
    work.set_log_high_watermark(reached)
    pending_change.finish(work, reached)
    retry_parked(work)
    work.deliver()


# ------------------------------------------------------------------------------------- fetches


def try_fetch(work: Working, request: FetchRequest, endpoints: Endpoints) -> FetchResponse:
    """Answer a fetch from the log as it is, and record how far the replica is."""
    if error := leader_only_error(work, request.epoch):
        return fetch_error(work, error, endpoints)
    snapshot = work.log.latest_snapshot
    if request.offset == 0 and snapshot and snapshot.id != BOOTSTRAP_SNAPSHOT:
        checked = NeedsSnapshot(snapshot.id)
    else:
        checked = work.log.check(request.offset, request.last_epoch)
    batches: tuple[Batch, ...] = ()
    if isinstance(checked, Valid):
        if request.replica.id == work.config.node_id:
            return fetch_error(work, ErrorCode.UNKNOWN_SERVER_ERROR, endpoints)
        batches = work.log.read(
            request.offset, max_bytes=min(request.max_bytes, work.config.fetch_max_bytes)
        )
        record_fetch(work, request.replica, work.log.batch_start(request.offset))
    role = leader(work)
    return FetchResponse(
        leader_id=role.leader_id,
        epoch=role.epoch,
        high_watermark=role.high_watermark,
        log_start=work.log.start,
        diverging=checked.end if isinstance(checked, Diverging) else None,
        snapshot=checked.id if isinstance(checked, NeedsSnapshot) else None,
        batches=batches,
        endpoints=endpoints,
    )


def fetch_error(work: Working, error: ErrorCode, endpoints: Endpoints) -> FetchResponse:
    """Refuse a fetch, with the leader that this node knows."""
    return FetchResponse(
        partition_error=error,
        leader_id=work.role.leader_id,
        epoch=work.role.epoch,
        log_start=work.log.start,
        endpoints=endpoints,
    )


def leader_only_error(work: Working, epoch: int) -> ErrorCode | None:
    """Why a request to the leader of `epoch` cannot be served here."""
    if epoch < work.role.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > work.role.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    if not isinstance(work.role, Leader):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.BROKER_NOT_AVAILABLE if work.is_shutting_down else None


def leader_endpoints(work: Working, listener: str, sends_endpoints: bool) -> Endpoints:
    """The leader's endpoint for the listener that a request came in on."""
    if not sends_endpoints or work.role.leader_id is None:
        return ()
    return tuple(e for e in work.role.leader_endpoints if e.listener == listener)


def retry_parked(work: Working) -> None:
    """Answer all waiting fetches: the log or the high watermark has moved."""
    waiting, work.parked = work.parked, ()
    for parked in waiting:
        endpoints = leader_endpoints(work, parked.listener, parked.sends_endpoints)
        work.answer(parked.token, try_fetch(work, parked.request, endpoints))


def refuse_parked(work: Working, error: ErrorCode) -> None:
    """Refuse all waiting fetches: this node leads no longer."""
    waiting, work.parked = work.parked, ()
    for parked in waiting:
        endpoints = leader_endpoints(work, parked.listener, parked.sends_endpoints)
        work.answer(parked.token, fetch_error(work, error, endpoints))


def expire_parked(work: Working) -> None:
    """Answer waiting fetches whose time is over with what there was when they came."""
    late = [parked for parked in work.parked if parked.deadline <= work.now]
    if late:
        work.parked = tuple(parked for parked in work.parked if parked.deadline > work.now)
        for parked in sorted(late, key=_by_deadline):
            work.answer(parked.token, parked.response)


def _by_deadline(parked: ParkedFetch) -> int:
    return parked.deadline
