"""What a decision is made from, and what comes out of it.

A handler is `handle(at, request) -> Decision`: it looks at the situation and returns records, an
answer and the next soft state. Nothing else happens; the process appends the records, replays them
and answers when they are committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kedge.metadata import metadata_version
from kedge.metadata.ids import Uuid
from kedge.metadata.image import EMPTY, Image
from kedge.metadata.records import MetadataRecord, Versioned
from kedge.metadata.refusal import Refused
from kedge.metadata.soft import SoftState
from kedge.model.error_codes import ErrorCode
from kedge.topics import AlterProposal, CreateProposal, Policy, allow

Answer = TypeVar("Answer")

ELR_FEATURE = "eligible.leader.replicas.version"

# A request that would write more than this is refused as a whole.
RECORDS_PER_REQUEST_MAX = 10_000

SUPPORTED_FEATURES: Mapping[str, tuple[int, int]] = {
    metadata_version.FEATURE: (metadata_version.MINIMUM, metadata_version.LATEST),
    "kraft.version": (0, 1),
    "transaction.version": (0, 2),
    "group.version": (0, 1),
    ELR_FEATURE: (0, 1),
    "share.version": (0, 1),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What the controller's own configuration says."""

    node_id: int
    cluster_id: str
    voters: tuple[int, ...] = ()
    default_replication_factor: int = 1
    default_partitions: int = 1
    session_ms: int = 9_000
    static: Mapping[str, str] = field(default_factory=dict[str, str])
    """`server.properties`, as far as it sets defaults of topics."""
    features: Mapping[str, tuple[int, int]] = field(default_factory=lambda: SUPPORTED_FEATURES)
    """The levels of each feature that this controller supports."""
    bootstrap: Mapping[str, int] = field(
        default_factory=lambda: {metadata_version.FEATURE: metadata_version.LATEST}
    )
    """The features that the first leader of an empty log writes."""
    elections_max: int = 1_000
    """How many partitions one run of a periodic election changes."""
    remote_storage: bool = False


def _only_addresses(host: str) -> bool:
    return False


def _no_upgrade(level: int) -> str | None:
    return f"the quorum cannot be upgraded to kraft.version {level}"


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a decision may look at."""

    settings: Settings
    image: Image = EMPTY
    soft: SoftState = field(default_factory=SoftState)
    now_ms: int = 0
    next_offset: int = 0
    """The offset that the next record will have."""
    draw: Callable[[int], int] = lambda bound: 0
    """A number from 0 to the bound, exclusive."""
    new_id: Callable[[], Uuid] = lambda: ""
    """A random id."""
    resolves: Callable[[str], bool] = _only_addresses
    """Whether a host name can be resolved (quotas of addresses)."""

    kraft_version: int = 0
    """The quorum's own version, which control records hold."""
    refuses_kraft_version: Callable[[int], str | None] = _no_upgrade
    """Why the quorum cannot take a kraft.version; None if it can."""

    create_policy: Policy[CreateProposal] = allow
    """The operator's policy on new topics."""
    alter_policy: Policy[AlterProposal] = allow
    """The operator's policy on configs of topics."""

    @property
    def level(self) -> int:
        """The cluster's metadata.version."""
        return self.image.features.get(metadata_version.FEATURE, metadata_version.MINIMUM)

    @property
    def elr_enabled(self) -> bool:
        """Whether eligible leader replicas are kept."""
        return self.image.features.get(ELR_FEATURE, 0) >= 1


@dataclass(frozen=True, slots=True)
class Decision(Generic[Answer]):
    """Records to be written, the answer when they are committed, and the next soft state.

    `soft` None means: as before. An atomic decision is written as one batch or not at all.
    """

    answer: Answer
    records: tuple[Versioned, ...] = ()
    soft: SoftState | None = None
    atomic: bool = True
    shuts_down: int | None = None
    """A broker in controlled shutdown, which began at the end of these records or before."""


def of_version_0(records: Iterable[MetadataRecord]) -> tuple[Versioned, ...]:
    """Records whose only version is 0."""
    return tuple(Versioned(record) for record in records)


def refuse_too_many(records: int, what: str = "") -> None:
    """Refuse a request that would write more records than one batch may have."""
    if records > RECORDS_PER_REQUEST_MAX:
        raise Refused(
            ErrorCode.POLICY_VIOLATION,
            what or "Unable to perform excessively large batch operation.",
        )
