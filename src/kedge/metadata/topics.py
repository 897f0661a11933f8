"""Topics are created and deleted.

Checks of a new topic, first match: name, collision with an existing one, existence, configs without
a value, configs, then its replicas. Topics that collide within one request do not see each other.
A topic is written as Topic, its configs, its partitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kedge.errors import PolicyViolation
from kedge.metadata.assignments import (
    Replicas,
    new_partitions,
    placed,
    refuse_all_fenced,
    validate_listed,
)
from kedge.metadata.configs import config_records
from kedge.metadata.decision import Decision, Situation, refuse_too_many
from kedge.metadata.ids import Uuid
from kedge.metadata.image import Topic
from kedge.metadata.records import RemoveTopicRecord, TopicRecord, Versioned
from kedge.metadata.refusal import SUCCESS, ApiError, Refused
from kedge.metadata.topic_names import name_fault
from kedge.metadata.topic_settings import Effective, ResourceKind, all_effective
from kedge.model import BrokerId
from kedge.model.error_codes import ErrorCode
from kedge.topics import CreateProposal, has_collision_chars

BY_DEFAULT = -1
PARTITIONS_PER_REQUEST_MAX = 10_000


@dataclass(frozen=True, slots=True)
class NewTopicRequest:
    """A topic to be created: counts, or replica lists by partition."""

    name: str
    partitions: int = BY_DEFAULT
    replication_factor: int = BY_DEFAULT
    assignments: tuple[tuple[int, Replicas], ...] = ()
    configs: Mapping[str, str | None] = field(default_factory=dict[str, str | None])


@dataclass(frozen=True, slots=True)
class CreateTopics:
    """CreateTopics. `describable` are the topics whose configs the caller may see."""

    topics: tuple[NewTopicRequest, ...]
    validate_only: bool = False
    describable: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """What became of a topic."""

    name: str
    error: ApiError = SUCCESS
    topic_id: Uuid | None = None
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, Effective] | None = None


def create_topics(at: Situation, request: CreateTopics) -> Decision[tuple[CreatedTopic, ...]]:
    """Create topics; one that is refused does not stop the others."""
    _refuse_too_many_partitions(at, request)
    results: list[CreatedTopic] = []
    records: list[Versioned] = []
    for topic in request.topics:
        try:
            created, written = _create(at, topic, described=topic.name in request.describable)
        except Refused as refused:
            created, written = CreatedTopic(topic.name, refused.error), []
        results.append(created)
        records += written
    refuse_too_many(len(records))
    return Decision(tuple(results), () if request.validate_only else tuple(records))


def _refuse_too_many_partitions(at: Situation, request: CreateTopics) -> None:
    total = 0
    for topic in request.topics:
        if topic.assignments:
            total += len(topic.assignments)
        elif topic.partitions == BY_DEFAULT:
            total += at.settings.default_partitions
        else:
            total += max(topic.partitions, 0)
    if total > PARTITIONS_PER_REQUEST_MAX:
        refuse_too_many(total, "Excessively large number of partitions per request.")


def _create(
    at: Situation, topic: NewTopicRequest, *, described: bool
) -> tuple[CreatedTopic, list[Versioned]]:
    _validate_name(at, topic.name)
    configs = _configs(topic)
    resource = (ResourceKind.TOPIC, topic.name)
    config_part = config_records(at, resource, configs, new_resource=True) if configs else []
    replicas = _listed(at, topic) if topic.assignments else _placed(at, topic)
    _ask_policy(at, topic, replicas, configs)
    topic_id = at.new_id()
    partitions = new_partitions(at, topic_id, replicas)
    created = CreatedTopic(
        topic.name,
        topic_id=topic_id,
        partitions=len(replicas) if described else -1,
        replication_factor=len(replicas[0]) if described else -1,
        configs=all_effective(at, configs) if described else None,
    )
    return created, [Versioned(TopicRecord(topic.name, topic_id)), *config_part, *partitions]


def _validate_name(at: Situation, name: str) -> None:
    fault = name_fault(name)
    if has_collision_chars(name) and (alike := at.image.alike.get(name.replace(".", "_"))):
        fault = f"Topic '{name}' collides with existing topic: {alike[0]}"
    if name in at.image.topic_ids:
        raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    if fault:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)


def _configs(topic: NewTopicRequest) -> dict[str, str]:
    if missing := [name for name, value in topic.configs.items() if value is None]:
        raise Refused(
            ErrorCode.INVALID_CONFIG,
            f"Null value not supported for topic configs: {','.join(missing)}",
        )
    return {name: value for name, value in topic.configs.items() if value is not None}


def _listed(at: Situation, topic: NewTopicRequest) -> list[Replicas]:
    for value, what in (
        (topic.replication_factor, "replication factor"),
        (topic.partitions, "numPartitions"),
    ):
        if value != BY_DEFAULT:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {what} was not set to -1.",
            )
    lists: dict[int, Replicas] = {}
    factor: int | None = None
    for number, replicas in topic.assignments:
        if number in lists:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {number}",
            )
        validate_listed(at, replicas, factor)
        factor = len(replicas)
        refuse_all_fenced(at, number, replicas)
        lists[number] = replicas
    if any(number not in lists for number in range(len(lists))):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    return [lists[number] for number in range(len(lists))]


def _placed(at: Situation, topic: NewTopicRequest) -> list[Replicas]:
    factor, count = topic.replication_factor, topic.partitions
    if factor < BY_DEFAULT or factor == 0:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if count < BY_DEFAULT or count == 0:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        )
    factor = at.settings.default_replication_factor if factor == BY_DEFAULT else factor
    count = at.settings.default_partitions if count == BY_DEFAULT else count
    try:
        return placed(at, count, factor)
    except Refused as refused:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {factor} time(s): {refused.error.message}",
        ) from None


def _ask_policy(
    at: Situation,
    topic: NewTopicRequest,
    replicas: Sequence[Replicas],
    configs: Mapping[str, str],
) -> None:
    """Ask the operator's policy, last: about counts, or about replicas placed by hand."""
    if topic.assignments:
        lists = {number: tuple(map(BrokerId, ids)) for number, ids in enumerate(replicas)}
        proposal = CreateProposal(topic.name, None, None, lists, configs)
    else:
        factor = len(replicas[0])
        proposal = CreateProposal(topic.name, len(replicas), factor, None, configs)
    try:
        at.create_policy(proposal)
    except PolicyViolation as refused:
        raise Refused(ErrorCode.POLICY_VIOLATION, str(refused)) from None


# ---- deletion ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeleteTopics:
    """DeleteTopics, by id."""

    topic_ids: tuple[Uuid, ...]


def delete_topics(at: Situation, request: DeleteTopics) -> Decision[dict[Uuid, ApiError]]:
    """Delete topics: one record each, which takes partitions and configs along."""
    results: dict[Uuid, ApiError] = {}
    records: list[Versioned] = []
    for topic_id in request.topic_ids:
        topic: Topic | None = at.image.topics.get(topic_id)
        if topic is None:
            results[topic_id] = ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
            continue
        records.append(Versioned(RemoveTopicRecord(topic_id)))
        results[topic_id] = SUCCESS
    refuse_too_many(len(records))
    return Decision(results, tuple(records))
