"""The one change of the voter set that may be under way: how it ends."""

from __future__ import annotations

from dataclasses import replace

from kedge.model.error_codes import ErrorCode
from kedge.quorum.messages import AddVoterResponse, RemoveVoterResponse
from kedge.quorum.roles import Leader
from kedge.quorum.working import Working

MESSAGES = {  # Kafka's texts where a handler has none of its own
    ErrorCode.NONE: "NONE",
    ErrorCode.REQUEST_TIMED_OUT: "The request timed out.",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "For requests intended only for the leader, this error "
    "indicates that the broker is not the current leader. For requests intended for any replica, "
    "this error indicates that the broker is not a replica of the topic partition.",
}


def finish(work: Working, committed: int) -> None:
    """Answer a change that is committed; a leader that is no voter any more resigns."""
    change = work.role.change if isinstance(work.role, Leader) else None
    if change is None or change.offset is None or committed <= change.offset:
        return
    end(work, ErrorCode.NONE)
    if isinstance(work.role, Leader) and not change.is_addition and not work.is_voter:
        work.role = replace(work.role, resign_requested=True)


def abandon(work: Working) -> None:
    """Answer a change that this node can no longer finish, since it leads no longer."""
    end(work, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def end(work: Working, error: ErrorCode, message: str | None = None) -> None:
    """End the change, if there is one, with this outcome."""
    role = work.role
    if isinstance(role, Leader) and role.change is not None:
        kind = AddVoterResponse if role.change.is_addition else RemoveVoterResponse
        work.role = replace(role, change=None)
        work.answer(role.change.token, kind(error, message or MESSAGES[error]))
