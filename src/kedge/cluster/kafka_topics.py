"""Reads, creates, expands and deletes topics over Kafka's protocol."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from kedge.cluster.admin_session import Session
from kedge.cluster.batches import PARTITIONS_MAX, TOPICS_MAX, batches
from kedge.cluster.deadline import Deadline
from kedge.cluster.error_mapping import (
    AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    refusal,
)
from kedge.cluster.port import (
    Answers,
    PartitionDescription,
    TopicCreation,
    TopicDescription,
    TopicExpansion,
)
from kedge.errors import KedgeError, Unauthorised, UnknownTopicOrPartition
from kedge.model import BrokerId
from kedge.protocol.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
    MetadataResponse,
)

Described = dict[str, TopicDescription | KedgeError]


def topic_names(session: Session) -> dict[str, bool]:
    """Every topic, sorted, and whether it is internal."""
    request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    answer = session.send(request, MetadataResponse, session.deadline())
    return dict(sorted((each.name or "", each.is_internal) for each in answer.topics))


def describe_topics(session: Session, names: Sequence[str]) -> Described:
    """Partitions of topics, by the request with eligible leaders where brokers support it."""
    deadline = session.deadline()
    if session.supports(DescribeTopicPartitionsRequest, deadline):
        read = _by_partitions
    else:
        read = _by_metadata
    found: Described = {}
    for batch in batches(dict.fromkeys(names), TOPICS_MAX):
        found |= read(session, batch, deadline)
    gone = UnknownTopicOrPartition
    return {
        name: found.get(name) or gone(f"Topic {name!r} not found") for name in dict.fromkeys(names)
    }


def _by_metadata(session: Session, names: Sequence[str], deadline: Deadline) -> Described:
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    answer = session.send(request, MetadataResponse, deadline)
    return {each.name or "": _described(each) for each in answer.topics}


def _by_partitions(session: Session, names: Sequence[str], deadline: Deadline) -> Described:
    """Page by page: a topic may begin on one page and go on in the next."""
    kind = DescribeTopicPartitionsRequest
    pages: dict[str, Any] = {}
    cursor: Any = None
    while True:
        request = kind(
            topics=[kind.TopicRequest(name=name) for name in sorted(names)],
            response_partition_limit=PARTITIONS_MAX,
            cursor=cursor,
        )
        answer = session.send(request, DescribeTopicPartitionsResponse, deadline)
        for topic in answer.topics:
            first = pages.setdefault(topic.name or "", topic)
            if first is not topic:
                first.partitions.extend(topic.partitions)
        following = answer.next_cursor
        if following is None:
            return {name: _described(topic) for name, topic in pages.items()}
        cursor = kind.Cursor(
            topic_name=following.topic_name, partition_index=following.partition_index
        )


def _described(topic: Any) -> TopicDescription | KedgeError:
    if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION:
        return UnknownTopicOrPartition(f"Topic {topic.name!r} not found")
    if topic.error_code in AUTHORIZATION_FAILED:
        return Unauthorised(
            f"Not authorized on topic {topic.name} (or it does not exist)",
            hint=f"missing permission: Describe on Topic {topic.name}",
        )
    error = refusal(topic.error_code, None, f"topic {topic.name}")
    if error is not None:
        return error
    partitions = sorted((_partition(each) for each in topic.partitions), key=lambda p: p.partition)
    return TopicDescription(
        topic.name, encoded_id(topic.topic_id), topic.is_internal, tuple(partitions)
    )


def _partition(each: Any) -> PartitionDescription:
    return PartitionDescription(
        each.partition_index,
        None if each.leader_id < 0 else BrokerId(each.leader_id),
        brokers(each.replica_nodes),
        brokers(each.isr_nodes),
        brokers(each.offline_replicas or ()),
        _maybe_brokers(getattr(each, "eligible_leader_replicas", None)),
        _maybe_brokers(getattr(each, "last_known_elr", None)),
    )


def brokers(ids: Iterable[int]) -> tuple[BrokerId, ...]:
    """Numbers known to be broker ids."""
    return tuple(map(BrokerId, ids))


def _maybe_brokers(ids: Iterable[int] | None) -> tuple[BrokerId, ...] | None:
    return None if ids is None else brokers(ids)


def encoded_id(topic_id: uuid.UUID | None) -> str:
    """A topic's id as Kafka writes it; empty where topics have none."""
    if topic_id is None or not topic_id.int:
        return ""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


# ---- changes ------------------------------------------------------------------------------------


def create_topics(
    session: Session, topics: Sequence[TopicCreation], *, validate_only: bool
) -> Answers[str]:
    """Create topics, in requests of bounded size."""
    deadline = session.deadline()
    answers: Answers[str] = {}
    for batch in batches(topics, PARTITIONS_MAX, _size):
        request = CreateTopicsRequest(
            topics=[_creatable(wanted) for wanted in batch],
            timeout_ms=session.patience_ms(deadline),
            validate_only=validate_only,
        )
        answer = session.send_to_controller(request, CreateTopicsResponse, deadline, _topic_codes)
        for each in answer.topics:
            needs = f"Create on Cluster (or Create on Topic {each.name})"
            answers[each.name] = refusal(
                each.error_code, each.error_message, each.name, needs=needs
            )
    return {wanted.name: answers[wanted.name] for wanted in topics}


def _size(wanted: TopicCreation) -> int:
    return max(1, len(wanted.assignment), wanted.partitions)


def _topic_codes(answer: CreateTopicsResponse) -> Iterable[int]:
    return (topic.error_code for topic in answer.topics)


def _creatable(wanted: TopicCreation) -> CreateTopicsRequest.CreatableTopic:
    kind = CreateTopicsRequest.CreatableTopic
    return kind(
        name=wanted.name,
        num_partitions=wanted.partitions,
        replication_factor=wanted.replication_factor,
        assignments=[
            kind.CreatableReplicaAssignment(partition_index=p, broker_ids=list(ids))
            for p, ids in wanted.assignment.items()
        ],
        configs=[
            kind.CreatableTopicConfig(name=name, value=value)
            for name, value in wanted.configs.items()
        ],
    )


def expand_topics(
    session: Session, topics: Sequence[TopicExpansion], *, validate_only: bool
) -> Answers[str]:
    """Add partitions to topics."""
    deadline = session.deadline()
    answers: Answers[str] = {}
    for batch in batches(topics, PARTITIONS_MAX, lambda wanted: max(1, wanted.total)):
        request = CreatePartitionsRequest(
            topics=[_expandable(wanted) for wanted in batch],
            timeout_ms=session.patience_ms(deadline),
            validate_only=validate_only,
        )
        answer = session.send_to_controller(
            request, CreatePartitionsResponse, deadline, _result_codes
        )
        for each in answer.results:
            needs = f"Alter on Topic {each.name}"
            answers[each.name] = refusal(
                each.error_code, each.error_message, each.name, needs=needs
            )
    return {wanted.topic: answers[wanted.topic] for wanted in topics}


def _result_codes(answer: CreatePartitionsResponse) -> Iterable[int]:
    return (result.error_code for result in answer.results)


def _expandable(wanted: TopicExpansion) -> CreatePartitionsRequest.CreatePartitionsTopic:
    kind = CreatePartitionsRequest.CreatePartitionsTopic
    added: Any = wanted.added and [
        kind.CreatePartitionsAssignment(broker_ids=list(ids)) for ids in wanted.added
    ]
    return kind(name=wanted.topic, count=wanted.total, assignments=added)


def delete_topics(session: Session, names: Sequence[str]) -> Answers[str]:
    """Delete topics by name."""
    deadline = session.deadline()
    answers: Answers[str] = {}
    for batch in batches(names, TOPICS_MAX):
        kind = DeleteTopicsRequest
        request = kind(
            topics=[kind.DeleteTopicState(name=name) for name in batch],
            topic_names=batch,
            timeout_ms=session.patience_ms(deadline),
        )
        answer = session.send_to_controller(request, DeleteTopicsResponse, deadline, _deleted_codes)
        for each in answer.responses:
            name = each.name or ""
            needs = f"Delete on Topic {name}"
            answers[name] = refusal(each.error_code, each.error_message, name, needs=needs)
    return {name: answers[name] for name in names}


def _deleted_codes(answer: DeleteTopicsResponse) -> Iterable[int]:
    return (response.error_code for response in answer.responses)
