"""Elections that are asked for, and those that the controller starts by itself.

"Preferred" may succeed though another than the first replica was elected: a partition without a
leader takes whom it can get. The periodic tasks elect preferred leaders everywhere, and unclean
ones where a topic allows them, a limited number at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from kedge.metadata.change import Election, Wanted
from kedge.metadata.decision import Decision, Situation, refuse_too_many
from kedge.metadata.image import PartitionKey
from kedge.metadata.partition_changes import PartitionChanger
from kedge.metadata.records import Versioned
from kedge.metadata.refusal import SUCCESS, ApiError, Refused
from kedge.model.error_codes import ErrorCode

_NOT_NEEDED = ApiError(
    ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
)
_NO_PREFERRED = ApiError(
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available."
)
_NO_ELIGIBLE = ApiError(
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "Eligible topic partition leaders are not available."
)


class ElectionType(Enum):
    """The elections that clients may ask for; the numbers are those on the wire."""

    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True)
class ElectLeaders:
    """ElectLeaders; no partitions means all. The type is the number on the wire."""

    election_type: int
    partitions: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class ElectPreferred:
    """The periodic election of preferred leaders."""


@dataclass(frozen=True, slots=True)
class ElectUnclean:
    """The periodic election for partitions without a leader whose topics allow unclean ones."""


Elected = tuple[tuple[str, int, ApiError], ...]


def elect_leaders(at: Situation, request: ElectLeaders) -> Decision[Elected]:
    """Elect as asked; with all partitions, those that need no election are left out."""
    if request.partitions == ():
        return Decision(())
    try:
        kind = ElectionType(request.election_type)
    except ValueError:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}"
        ) from None
    asked = _everything(at) if request.partitions is None else request.partitions
    changer = PartitionChanger(at)
    results: list[tuple[str, int, ApiError]] = []
    records: list[Versioned] = []
    for topic, number in asked:
        error, made = _elect(at, changer, topic, number, kind)
        records += made
        if request.partitions is not None or error is not _NOT_NEEDED:
            results.append((topic, number, error))
    refuse_too_many(len(records))
    return Decision(tuple(results), tuple(records), atomic=False)


def _everything(at: Situation) -> Iterable[tuple[str, int]]:
    for name in sorted(at.image.topic_ids):
        topic = at.image.topics[at.image.topic_ids[name]]
        for number in sorted(topic.partitions):
            yield name, number


def _elect(
    at: Situation, changer: PartitionChanger, name: str, number: int, kind: ElectionType
) -> tuple[ApiError, list[Versioned]]:
    topic = at.image.topic_named(name)
    if topic is None:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}"), []
    now = topic.partitions.get(number)
    if now is None:
        message = f"No such partition as {name}-{number}"
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message), []
    preferred = kind is ElectionType.PREFERRED
    if now.has_preferred_leader if preferred else now.has_leader:
        return _NOT_NEEDED, []
    wanted = Wanted(election=Election.PREFERRED if preferred else Election.UNCLEAN)
    made = changer.change(topic, number, wanted)
    if made:
        return SUCCESS, made
    return _NO_PREFERRED if preferred else _NO_ELIGIBLE, []


def elect_preferred(at: Situation, request: ElectPreferred) -> Decision[bool]:
    """Give partitions back to their first replicas; the answer says whether there may be more."""
    changer = PartitionChanger(at)
    return _some(at, at.image.indexes.imbalanced, lambda key: _preferred(at, changer, key))


def _preferred(at: Situation, changer: PartitionChanger, key: PartitionKey) -> list[Versioned]:
    topic = at.image.topics[key[0]]
    return changer.change(topic, key[1], Wanted(election=Election.PREFERRED))


def elect_unclean(at: Situation, request: ElectUnclean) -> Decision[bool]:
    """Elect any replica that is alive; the answer says whether there may be more."""
    changer = PartitionChanger(at)
    return _some(at, at.image.indexes.leaderless, lambda key: _unclean(at, changer, key))


def _unclean(at: Situation, changer: PartitionChanger, key: PartitionKey) -> list[Versioned]:
    topic = at.image.topics[key[0]]
    if not changer.allows_unclean(topic):
        return []
    return changer.change(topic, key[1], Wanted(election=Election.UNCLEAN))


def _some(
    at: Situation,
    keys: Iterable[PartitionKey],
    change: Callable[[PartitionKey], list[Versioned]],
) -> Decision[bool]:
    records: list[Versioned] = []
    for key in sorted(keys):
        if len(records) >= at.settings.elections_max:
            break
        records += change(key)
    return Decision(len(records) >= at.settings.elections_max, tuple(records), atomic=False)
