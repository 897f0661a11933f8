"""A follower's work: appending what it fetched, truncating where logs part, loading snapshots."""

from __future__ import annotations

from dataclasses import replace

from kedge.model.error_codes import ErrorCode
from kedge.quorum.log import SnapshotInfo
from kedge.quorum.messages import FetchResponse, FetchSnapshotResponse
from kedge.quorum.node import (
    AppendBatches,
    FaultKind,
    InstallSnapshot,
    TruncateLog,
    VersionAt,
    VotersAt,
    WriteSnapshotPart,
)
from kedge.quorum.roles import Follower
from kedge.quorum.values import Batch, EpochOffset
from kedge.quorum.working import ProtocolFault, Working


def follower(work: Working) -> Follower:
    """The state of this node, which must follow a leader."""
    if not isinstance(work.role, Follower):
        raise ProtocolFault(FaultKind.ILLEGAL_STATE, f"a {work.role.name} does not fetch")
    return work.role


def on_fetch(work: Working, message: FetchResponse) -> bool:
    """Act on the response to a Fetch."""
    role = follower(work)
    if message.partition_error is not ErrorCode.NONE:
        return False
    if message.diverging is not None:
        _truncate(work, role, message.diverging)
    elif message.snapshot is not None:
        wanted = None if work.log.snapshot(message.snapshot) else message.snapshot
        work.role = replace(role, fetching_snapshot=wanted, snapshot_position=0)
    else:
        _append(work, message.batches)
        _update_high_watermark(work, message.high_watermark)
    _restart_fetch_timer(work)
    return True


def _truncate(work: Working, role: Follower, diverging: EpochOffset) -> None:
    if role.high_watermark is not None and diverging.offset < role.high_watermark:
        raise ProtocolFault(
            FaultKind.BELOW_HIGH_WATERMARK,
            f"the leader asks to truncate to {diverging.offset}, "
            f"the high watermark is {role.high_watermark}",
        )
    offset = work.log.truncation_offset(diverging)
    if offset < work.log.high_watermark:
        raise ProtocolFault(
            FaultKind.ILLEGAL_ARGUMENT, f"{offset} is below {work.log.high_watermark}"
        )
    if offset < work.log.end:
        work.writes.append(TruncateLog(offset))
    work.log = work.log.truncated(offset)
    work.forget_control_records(offset)


def _append(work: Working, batches: tuple[Batch, ...]) -> None:
    """Append what continues the log; a batch of a later epoch ends it, and the rest is dropped."""
    fitting: list[Batch] = []
    end = work.log.end
    for batch in batches:
        if batch.epoch > work.role.epoch:
            break
        if batch.base != end:
            raise ProtocolFault(
                FaultKind.UNALIGNED_HIGH_WATERMARK, f"a batch at {batch.base} after {end}"
            )
        fitting.append(batch)
        end = batch.last + 1
    if fitting:
        appended = tuple(fitting)
        work.log = work.log.appended(appended)
        work.writes.append(AppendBatches(appended))
        work.note_control_records(appended)


def _update_high_watermark(work: Working, leaders: int | None) -> None:
    role = follower(work)
    if leaders is None:
        return
    reached = min(work.log.end, leaders)
    if role.high_watermark is not None:
        if reached < role.high_watermark:
            raise ProtocolFault(
                FaultKind.ILLEGAL_ARGUMENT,
                f"the high watermark would fall from {role.high_watermark} to {reached}",
            )
        if reached == role.high_watermark:
            return
    work.role = replace(role, high_watermark=reached)
    work.set_log_high_watermark(reached)
    work.deliver()


def _restart_fetch_timer(work: Working) -> None:
    deadline = work.now + work.config.fetch_timeout_ms
    work.role = replace(follower(work), fetch_deadline=deadline, has_fetched=True)


def on_fetch_snapshot(work: Working, message: FetchSnapshotResponse) -> bool:
    """Write a part of a snapshot; with the last one, begin the log anew at its end."""
    role = follower(work)
    if message.partition_error is ErrorCode.SNAPSHOT_NOT_FOUND or (
        message.partition_error is ErrorCode.NONE and message.snapshot is None
    ):
        work.role = replace(role, fetching_snapshot=None, snapshot_position=0)
        _restart_fetch_timer(work)
        return True
    if message.partition_error is not ErrorCode.NONE or message.snapshot is None:
        return False
    if (message.snapshot, message.position) != (role.fetching_snapshot, role.snapshot_position):
        raise ProtocolFault(
            FaultKind.ILLEGAL_STATE,
            f"position {message.position} of snapshot {message.snapshot}, wanted is "
            f"{role.snapshot_position} of {role.fetching_snapshot}",
        )
    position = message.position + len(message.data)
    work.writes.append(WriteSnapshotPart(message.snapshot, message.position, message.data))
    if position == message.size:
        work.role = replace(role, fetching_snapshot=None, snapshot_position=0)
        _install(work, SnapshotInfo(message.snapshot, message.size), message)
    else:
        work.role = replace(role, snapshot_position=position)
    _restart_fetch_timer(work)
    return True


def _install(work: Working, snapshot: SnapshotInfo, message: FetchSnapshotResponse) -> None:
    if snapshot.id <= work.log.position:
        raise ProtocolFault(FaultKind.ILLEGAL_STATE, "the snapshot is older than the log")
    work.writes.append(InstallSnapshot(snapshot))
    work.log = work.log.replaced_by(snapshot)
    if message.voters is not None:
        last = snapshot.id.offset - 1
        work.voter_history = (VotersAt(last, message.voters),)
        work.version_history = (VersionAt(last, message.kraft_version),)
    _update_high_watermark(work, snapshot.id.offset)
