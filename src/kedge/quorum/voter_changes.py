"""Changes of the voter set (KIP-853): one at a time, each a record that counts when appended.

With kraft.version 0 the set is that of the configuration. The leader then only remembers what
voters tell of themselves, so that a later upgrade to version 1 can write the complete set.
"""

from __future__ import annotations

from dataclasses import replace

from kedge.model.error_codes import ErrorCode
from kedge.quorum import leading, pending_change
from kedge.quorum.messages import (
    AddVoterRequest,
    AddVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RemoveVoterRequest,
    RemoveVoterResponse,
    UpdateVoterRequest,
    UpdateVoterResponse,
)
from kedge.quorum.node import FaultKind, Refusal, RefusalKind, UpgradeKRaftVersion
from kedge.quorum.roles import Leader, VoterChange
from kedge.quorum.values import (
    Endpoints,
    KRaftVersionChange,
    ReplicaKey,
    Voter,
    VotersChange,
    VoterSet,
)
from kedge.quorum.working import ProtocolFault, Working

HOUR_MS = 3_600_000


def add(work: Working, token: int, request: AddVoterRequest) -> None:
    """Add a voter, after it has said which kraft.versions it supports."""
    if refusal := _add_refusal(work, request):
        work.answer(token, refusal)
        return
    if not work.send(request.voter.id, ApiVersionsRequest(), request.endpoints):
        work.answer(
            token,
            AddVoterResponse(
                ErrorCode.REQUEST_TIMED_OUT,
                f"New voter {_shown(request.voter)} is not ready to receive requests",
            ),
        )
        return
    deadline = work.now + work.config.request_timeout_ms
    change = VoterChange(token, True, request.voter, request.endpoints, deadline)
    work.role = replace(leading.leader(work), change=change)


def _add_refusal(work: Working, request: AddVoterRequest) -> AddVoterResponse | None:
    cluster_id = work.config.cluster_id
    if request.cluster_id is not None and request.cluster_id != cluster_id:
        return AddVoterResponse(
            ErrorCode.INCONSISTENT_CLUSTER_ID, _other_cluster(request.cluster_id, cluster_id)
        )
    if error := leading.leader_only_error(work, work.role.epoch):
        return AddVoterResponse(error)
    if request.voter.id < 0 or request.voter.directory is None:
        return AddVoterResponse(
            ErrorCode.INVALID_REQUEST, "Add voter request didn't include a valid voter"
        )
    if not any(endpoint.listener == work.config.listener for endpoint in request.endpoints):
        return AddVoterResponse(
            ErrorCode.INVALID_REQUEST,
            f"Add voter request didn't include the endpoint ({_endpoints(request.endpoints)}) "
            f"for the default listener ListenerName({work.config.listener})",
        )
    if gate := _gate(work, "adding"):
        return AddVoterResponse(*gate)
    if request.voter.id in work.voters:
        return AddVoterResponse(
            ErrorCode.DUPLICATE_VOTER,
            f"The voter id for {_shown(request.voter)} is already part of the set of voters "
            f"{_keys(work.voters)}.",
        )
    return None


def remove(work: Working, token: int, request: RemoveVoterRequest) -> None:
    """Remove a voter, this node included."""
    if refusal := _remove_refusal(work, request):
        work.answer(token, refusal)
        return
    deadline = work.now + work.config.request_timeout_ms
    change = VoterChange(token, False, request.voter, (), deadline, _next_offset(work))
    work.role = replace(leading.leader(work), change=change)
    leading.append_control(work, (VotersChange(work.voters.without(request.voter.id)),))


def _remove_refusal(work: Working, request: RemoveVoterRequest) -> RemoveVoterResponse | None:
    cluster_id = work.config.cluster_id
    if request.cluster_id is not None and request.cluster_id != cluster_id:
        return RemoveVoterResponse(
            ErrorCode.INCONSISTENT_CLUSTER_ID, _other_cluster(request.cluster_id, cluster_id)
        )
    if error := leading.leader_only_error(work, work.role.epoch):
        return RemoveVoterResponse(error)
    if request.voter.id < 0 or request.voter.directory is None:
        return RemoveVoterResponse(
            ErrorCode.INVALID_REQUEST, "Remove voter request didn't include a valid voter"
        )
    if gate := _gate(work, "removing"):
        return RemoveVoterResponse(*gate)
    known = work.voters.get(request.voter.id)
    if known is None or known.key != request.voter or len(work.voters) == 1:
        return RemoveVoterResponse(
            ErrorCode.VOTER_NOT_FOUND,
            f"Cannot remove voter {_shown(request.voter)} from the set of voters "
            f"{_keys(work.voters)}",
        )
    return None


def update(work: Working, listener: str, request: UpdateVoterRequest) -> UpdateVoterResponse:
    """Take what a voter tells of itself: into the log, or with kraft.version 0 into memory."""
    error = _update_error(work, request)
    if error is ErrorCode.NONE:
        voter = Voter(
            request.voter,
            request.endpoints,
            request.kraft_version_min,
            request.kraft_version_max,
        )
        role = leading.leader(work)
        if work.kraft_version > 0:
            leading.append_control(work, (VotersChange(work.voters.replaced(voter)),))
        elif role.known_voters is not None:
            work.role = replace(role, known_voters=role.known_voters.replaced(voter))
        leading.count_sign_of_life(work, request.voter)
    endpoints = leading.leader_endpoints(work, listener, True)
    return UpdateVoterResponse(error, work.role.leader_id, work.role.epoch, endpoints)


def _update_error(work: Working, request: UpdateVoterRequest) -> ErrorCode:
    if request.cluster_id is not None and request.cluster_id != work.config.cluster_id:
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    if error := leading.leader_only_error(work, request.epoch):
        return error
    low, high = request.kraft_version_min, request.kraft_version_max
    has_endpoint = any(e.listener == work.config.listener for e in request.endpoints)
    if request.voter.id < 0 or request.voter.directory is None or not has_endpoint:
        return ErrorCode.INVALID_REQUEST
    if low < 0 or high < low:
        return ErrorCode.INVALID_REQUEST
    role = leading.leader(work)
    expire(work)
    if leading.leader(work).change or role.high_watermark is None:
        return ErrorCode.REQUEST_TIMED_OUT
    voters = role.known_voters
    if work.kraft_version > 0:
        voters = work.voters if _is_set_committed(work, role.high_watermark) else None
    if voters is None:
        return ErrorCode.REQUEST_TIMED_OUT
    if not low <= work.kraft_version <= high:
        return ErrorCode.INVALID_REQUEST
    known = voters.get(request.voter.id)
    is_known = known is not None and (work.kraft_version == 0 or known.key == request.voter)
    return ErrorCode.NONE if is_known else ErrorCode.VOTER_NOT_FOUND


def on_api_versions(work: Working, peer: int, response: ApiVersionsResponse) -> bool:
    """The node that is to become a voter has said what it supports."""
    role = work.role
    if not isinstance(role, Leader) or role.change is None:
        return True
    change = role.change
    if not change.is_addition or change.offset is not None or change.key.id != peer:
        return True
    if response.error is not ErrorCode.NONE:
        pending_change.end(
            work,
            ErrorCode.REQUEST_TIMED_OUT,
            f"Aborted add voter operation for since API_VERSIONS returned an error "
            f"{response.error.name}",
        )
        return False
    low, high = response.kraft_versions or (0, 0)
    if response.kraft_versions is None or not low <= work.kraft_version <= high:
        pending_change.end(
            work,
            ErrorCode.INVALID_REQUEST,
            f"Aborted add voter operation for {_shown(change.key)} since the kraft.version range "
            f"(min: {low}, max: {high} doesn't support the finalized version "
            f"{work.kraft_version}",
        )
    elif not _is_caught_up(work, change.key):
        pending_change.end(
            work,
            ErrorCode.REQUEST_TIMED_OUT,
            f"Aborted add voter operation for {_shown(change.key)} since it is lagging behind",
        )
    else:
        voters = work.voters.replaced(Voter(change.key, change.endpoints, low, high))
        work.role = replace(role, change=replace(change, offset=_next_offset(work)))
        leading.append_control(work, (VotersChange(voters),))
    return True


def expire(work: Working) -> None:
    """Give up a change of the voter set that takes too long."""
    change = leading.leader(work).change
    if change is not None and change.deadline <= work.now:
        pending_change.end(work, ErrorCode.REQUEST_TIMED_OUT)


def upgrade(work: Working, event: UpgradeKRaftVersion) -> Refusal | None:
    """Finalize a kraft.version, with the voter set that the leader has come to know."""
    role = work.role
    if not isinstance(role, Leader) or event.epoch < role.epoch:
        return Refusal(RefusalKind.NOT_LEADER, f"this node does not lead epoch {event.epoch}")
    if event.epoch > role.epoch:
        return Refusal(RefusalKind.INVALID, f"epoch {event.epoch} has not begun")
    if event.version == work.kraft_version:
        return None
    if event.version < work.kraft_version or role.known_voters is None:
        return Refusal(
            RefusalKind.INVALID,
            f"kraft.version cannot go from {work.kraft_version} to {event.version}",
        )
    known = role.known_voters
    if any(not v.kraft_version_min <= event.version <= v.kraft_version_max for v in known.all):
        return Refusal(RefusalKind.INVALID, f"not all voters support kraft.version {event.version}")
    if any(voter.key.directory is None for voter in known.all):
        raise ProtocolFault(FaultKind.ILLEGAL_STATE, "the directory id of a voter is unknown")
    work.role = replace(role, known_voters=None)
    leading.append_control(work, (KRaftVersionChange(event.version), VotersChange(known)))
    return None


def _gate(work: Working, doing: str) -> tuple[ErrorCode, str] | None:
    """Why no change of the voter set can begin now."""
    expire(work)
    role = leading.leader(work)
    if role.change:
        return (
            ErrorCode.REQUEST_TIMED_OUT,
            "Request timed out waiting for leader to handle previous voter change request",
        )
    if role.high_watermark is None:
        return (
            ErrorCode.REQUEST_TIMED_OUT,
            "Request timed out waiting for leader to establish HWM and fence previous voter "
            "changes",
        )
    if work.kraft_version == 0:
        return (
            ErrorCode.UNSUPPORTED_VERSION,
            f"Cluster doesn't support {doing} voter because the kraft.version feature is 0",
        )
    if not _is_set_committed(work, role.high_watermark):
        at = f"Optional[{work.voter_history[-1].offset}]" if work.voter_history else "empty"
        return (
            ErrorCode.REQUEST_TIMED_OUT,
            f"Request timed out waiting for voters to commit the latest voter change at {at} "
            f"with HWM {role.high_watermark}",
        )
    return None


def _is_set_committed(work: Working, high_watermark: int) -> bool:
    return bool(work.voter_history) and work.voter_history[-1].offset < high_watermark


def _is_caught_up(work: Working, key: ReplicaKey) -> bool:
    progress = leading.leader(work).observers.get(key)
    return (
        progress is not None
        and progress.last_caught_up_ms > 0
        and progress.last_fetch_ms > max(0, work.now - HOUR_MS)
    )


def _next_offset(work: Working) -> int:
    return leading.leader(work).pending.next_offset


def _other_cluster(given: str, own: str) -> str:
    return f'The given id "{given}" doesn\'t match the cluster id "{own}"'


def _shown(key: ReplicaKey) -> str:
    directory = "<undefined>" if key.directory is None else key.directory
    return f"ReplicaKey(id={key.id}, directoryId={directory})"


def _keys(voters: VoterSet) -> str:
    return f"[{', '.join(_shown(voter.key) for voter in voters.all)}]"


def _endpoints(endpoints: Endpoints) -> str:
    shown = (f"ListenerName({e.listener})={e.host}/<unresolved>:{e.port}" for e in endpoints)
    return f"Endpoints(endpoints={{{', '.join(shown)}}})"
