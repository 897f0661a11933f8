"""The small values of the quorum: replica keys, voters, batches, the durable election state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Draw: TypeAlias = Callable[[int], int]  # draw(bound) gives a number from 0 to bound - 1


class ReplicaKey(NamedTuple):
    """A replica: node id, and the id of its directory where that is known."""

    id: int
    directory: str | None = None

    def admits(self, other: ReplicaKey) -> bool:
        """Whether `other` is this replica; an unknown directory id of this key matches any."""
        return self.id == other.id and self.directory in (None, other.directory)


class EpochOffset(NamedTuple):
    """An epoch and an offset; compares by epoch first, as logs and snapshots do."""

    epoch: int
    offset: int


class VoterEndpoint(NamedTuple):
    """Where a voter listens, by listener name."""

    listener: str
    host: str
    port: int


Endpoints: TypeAlias = tuple[VoterEndpoint, ...]


class Voter(NamedTuple):
    """A member of the voter set."""

    key: ReplicaKey
    endpoints: Endpoints = ()
    kraft_version_min: int = 0
    kraft_version_max: int = 0


class VoterSet:
    """The voters by id; immutable."""

    __slots__ = ("_by_id",)

    def __init__(self, voters: Iterable[Voter] = ()) -> None:
        self._by_id = {voter.key.id: voter for voter in sorted(voters, key=lambda v: v.key.id)}

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids in ascending order."""
        return tuple(self._by_id)

    @property
    def all(self) -> tuple[Voter, ...]:
        """The voters in ascending order of id."""
        return tuple(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, voter_id: int) -> bool:
        return voter_id in self._by_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and self._by_id == other._by_id

    def __hash__(self) -> int:
        return hash(self.all)

    def __repr__(self) -> str:
        return f"VoterSet({list(self._by_id.values())})"

    def get(self, voter_id: int) -> Voter | None:
        """The voter of this id, or None."""
        return self._by_id.get(voter_id)

    def is_voter(self, key: ReplicaKey) -> bool:
        """Whether the replica is a member; an unknown directory id in the set matches any."""
        voter = self._by_id.get(key.id)
        return voter is not None and voter.key.admits(key)

    def is_only_voter(self, key: ReplicaKey) -> bool:
        """Whether the replica is the only member."""
        return len(self._by_id) == 1 and self.is_voter(key)

    def endpoints(self, voter_id: int) -> Endpoints:
        """Where a voter listens; nothing for a node that is no voter."""
        voter = self._by_id.get(voter_id)
        return voter.endpoints if voter else ()

    def replaced(self, voter: Voter) -> VoterSet:
        """The set with this voter in place of the one of the same id, or in addition."""
        return VoterSet({**self._by_id, voter.key.id: voter}.values())

    def without(self, voter_id: int) -> VoterSet:
        """The set without this id."""
        return VoterSet(voter for voter in self.all if voter.key.id != voter_id)


class LeaderChange(NamedTuple):
    """Control record at the start of every epoch."""

    leader_id: int
    voters: tuple[int, ...]
    granting_voters: tuple[int, ...]


class KRaftVersionChange(NamedTuple):
    """Control record: the finalized kraft.version."""

    version: int


class VotersChange(NamedTuple):
    """Control record: the voter set from this offset on."""

    voters: VoterSet


ControlRecord: TypeAlias = LeaderChange | KRaftVersionChange | VotersChange


class Batch(NamedTuple):
    """Records appended together; data is opaque to raft, control records are not."""

    base: int
    epoch: int
    records: Sequence[object]
    control: tuple[ControlRecord, ...] = ()
    size: int = 0  # bytes, for the limit of one fetch
    raw: bytes = b""  # as it came from another node or from the disk; empty where it is new

    @property
    def last(self) -> int:
        """Offset of the last record."""
        return self.base + (len(self.records) or len(self.control)) - 1


class LeaderAndEpoch(NamedTuple):
    """The leader of an epoch, None while unknown."""

    leader_id: int | None
    epoch: int


class Election(NamedTuple):
    """What `quorum-state` holds: written and synced before a node acts on it."""

    epoch: int = 0
    leader_id: int | None = None
    voted: ReplicaKey | None = None


@dataclass(frozen=True, slots=True)
class QuorumConfig:
    """Who this node is, and the settings of `controller.quorum.*`."""

    node_id: int
    directory: str
    cluster_id: str
    endpoints: Endpoints
    listener: str  # the listener on which voters talk to each other
    bootstrap: tuple[int, ...]  # who is asked for the leader while it is unknown
    kraft_version_min: int = 0
    kraft_version_max: int = 1
    election_timeout_ms: int = 1000
    election_backoff_max_ms: int = 1000
    fetch_timeout_ms: int = 2000
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    append_linger_ms: int = 25
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 8 * 1024 * 1024
    batch_max_bytes: int = 8 * 1024 * 1024
    observer_session_ms: int = 300_000

    @property
    def key(self) -> ReplicaKey:
        """This node as a replica."""
        return ReplicaKey(self.node_id, self.directory)

    @property
    def voter(self) -> Voter:
        """This node as it should be in the voter set."""
        return Voter(self.key, self.endpoints, self.kraft_version_min, self.kraft_version_max)

    @property
    def check_quorum_timeout_ms(self) -> int:
        """A leader resigns when no majority fetches for this long."""
        return self.fetch_timeout_ms * 3 // 2

    @property
    def begin_epoch_period_ms(self) -> int:
        """A leader repeats BeginQuorumEpoch after this long."""
        return self.fetch_timeout_ms // 2
