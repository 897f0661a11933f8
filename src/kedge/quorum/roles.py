"""The states of a node in an epoch, each with exactly what it knows.

Deadlines are points in time in milliseconds, None for never. `high_watermark` is None while it is
unknown: a leader learns it anew in every epoch, and a node that resigned has forgotten it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from kedge.quorum.values import Election, Endpoints, EpochOffset, ReplicaKey, VoterSet


class RoleName(StrEnum):
    """The names of the states, as Kafka's metrics have them."""

    UNATTACHED = "unattached"
    PROSPECTIVE = "prospective"
    CANDIDATE = "candidate"
    LEADER = "leader"
    FOLLOWER = "follower"
    RESIGNED = "resigned"


Votes: TypeAlias = Mapping[int, bool | None]  # by voter; None while the voter has not answered


def is_won(votes: Votes) -> bool:
    """Whether a majority has granted."""
    return sum(vote is True for vote in votes.values()) > len(votes) // 2


def is_lost(votes: Votes) -> bool:
    """Whether a majority can no longer be reached."""
    return sum(vote is not False for vote in votes.values()) <= len(votes) // 2


@dataclass(frozen=True, slots=True)
class Unattached:
    """Knows no leader, or only the id of one; may have voted."""

    epoch: int
    leader_id: int | None
    voted: ReplicaKey | None
    high_watermark: int | None
    election_deadline: int | None

    name = RoleName.UNATTACHED
    leader_endpoints: Endpoints = ()


@dataclass(frozen=True, slots=True)
class Prospective:
    """Asks the voters whether they would vote for it, without a new epoch."""

    epoch: int
    leader_id: int | None
    leader_endpoints: Endpoints
    voted: ReplicaKey | None
    high_watermark: int | None
    election_deadline: int
    votes: Votes

    name = RoleName.PROSPECTIVE


@dataclass(frozen=True, slots=True)
class Candidate:
    """Has begun an epoch, voted for itself, and asks for votes."""

    epoch: int
    voted: ReplicaKey | None
    high_watermark: int | None
    election_deadline: int
    votes: Votes

    name = RoleName.CANDIDATE
    leader_id: int | None = None
    leader_endpoints: Endpoints = ()


@dataclass(frozen=True, slots=True)
class Follower:
    """Fetches from the leader of the epoch."""

    epoch: int
    leader_id: int
    leader_endpoints: Endpoints
    voted: ReplicaKey | None
    high_watermark: int | None
    fetch_deadline: int
    update_voter_deadline: int
    has_fetched: bool = False
    has_updated_leader: bool = False
    fetching_snapshot: EpochOffset | None = None
    snapshot_position: int = 0

    name = RoleName.FOLLOWER


@dataclass(frozen=True, slots=True)
class Progress:
    """What the leader knows of a replica, itself included."""

    key: ReplicaKey
    log_end: int | None = None
    last_fetch_ms: int = -1
    last_fetch_leader_end: int = -1
    last_caught_up_ms: int = -1


@dataclass(frozen=True, slots=True)
class Accumulator:
    """Appends that wait for the end of the linger, to be written as batches."""

    next_offset: int
    appends: tuple[tuple[object, ...], ...] = ()
    sizes: tuple[int, ...] = ()
    deadline: int | None = None


@dataclass(frozen=True, slots=True)
class VoterChange:
    """A change of the voter set that is not committed yet; `token` is the request to answer."""

    token: int
    is_addition: bool
    key: ReplicaKey
    endpoints: Endpoints
    deadline: int
    offset: int | None = None  # of the voters record; None while the new voter is being asked


@dataclass(frozen=True, slots=True)
class Leader:
    """Appends, answers fetches, moves the high watermark."""

    epoch: int
    leader_id: int
    leader_endpoints: Endpoints
    epoch_start: int
    voters: Mapping[int, Progress]
    check_quorum_deadline: int
    begin_epoch_deadline: int
    pending: Accumulator
    high_watermark: int | None = None
    observers: Mapping[ReplicaKey, Progress] = field(default_factory=dict[ReplicaKey, Progress])
    fetched_voters: frozenset[int] = frozenset()
    resign_requested: bool = False
    known_voters: VoterSet | None = None  # kraft.version 0: with what voters said of themselves
    change: VoterChange | None = None

    name = RoleName.LEADER
    voted: ReplicaKey | None = None


@dataclass(frozen=True, slots=True)
class Resigned:
    """Has led this epoch and tells the voters that it does no longer."""

    epoch: int
    leader_id: int
    leader_endpoints: Endpoints
    unacknowledged: frozenset[int]
    preferred: tuple[ReplicaKey, ...]
    election_deadline: int

    name = RoleName.RESIGNED
    voted: ReplicaKey | None = None
    high_watermark: int | None = None


Role: TypeAlias = Unattached | Prospective | Candidate | Leader | Follower | Resigned
Nominee: TypeAlias = Prospective | Candidate


def election_of(role: Role) -> Election:
    """What `quorum-state` holds in this state."""
    return Election(role.epoch, role.leader_id, role.voted)
