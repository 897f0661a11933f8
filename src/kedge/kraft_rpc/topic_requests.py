"""Clients' requests about topics: create, expand, delete, move, elect."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from operator import itemgetter
from typing import Any

from kedge.kraft_rpc.raft_requests import TOPIC
from kedge.kraft_rpc.scripts import (
    Handlers,
    Script,
    Served,
    code_of,
    message_of,
    text_id,
    wire_id,
)
from kedge.metadata.elections import ElectLeaders
from kedge.metadata.more_partitions import CreatePartitions, MorePartitions
from kedge.metadata.reassignments import AlterReassignments, ListReassignments, ReassignmentOrder
from kedge.metadata.refusal import ApiError
from kedge.metadata.topics import CreatedTopic, CreateTopics, DeleteTopics, NewTopicRequest
from kedge.model.error_codes import ErrorCode
from kedge.protocol import messages as m

Created = m.CreateTopicsResponse.CreatableTopicResult
CreatedConfig = Created.CreatableTopicConfigs
Expanded = m.CreatePartitionsResponse.CreatePartitionsTopicResult
Deleted = m.DeleteTopicsResponse.DeletableTopicResult
Moved = m.AlterPartitionReassignmentsResponse.ReassignableTopicResponse
Listed = m.ListPartitionReassignmentsResponse.OngoingTopicReassignment
Elected = m.ElectLeadersResponse.ReplicaElectionResult

_IDS_SINCE = 6  # of DeleteTopics


def create_topics(served: Served, request: Any, version: int) -> Script:
    """CreateTopics; each occurrence of a repeated name is refused."""
    times = Counter(topic.name for topic in request.topics)
    refused = {name: "Duplicate topic name." for name, count in times.items() if count > 1}
    if TOPIC in times:
        refused[TOPIC] = f"Creation of internal topic {TOPIC} is prohibited."
    wanted = tuple(_new_topic(t) for t in request.topics if t.name not in refused)
    names = frozenset(topic.name for topic in wanted)
    answer = yield CreateTopics(wanted, request.validate_only, names)
    if isinstance(answer, ApiError):
        rows = [_refused_topic(name, answer.code, answer.message) for name in names]
    else:
        rows = list(map(_created, answer))
    rows += [_refused_topic(n, ErrorCode.INVALID_REQUEST, why) for n, why in refused.items()]
    return m.CreateTopicsResponse(throttle_time_ms=0, topics=rows)


def _new_topic(topic: Any) -> NewTopicRequest:
    return NewTopicRequest(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        tuple((a.partition_index, tuple(a.broker_ids)) for a in topic.assignments),
        {config.name: config.value for config in topic.configs},
    )


def _refused_topic(name: str, code: ErrorCode, message: str | None) -> Any:
    return Created(name=name, error_code=code, error_message=message, configs=[])


def _created(topic: CreatedTopic) -> Any:
    if topic.error.failed:
        return _refused_topic(topic.name, topic.error.code, topic.error.message)
    configs = [
        CreatedConfig(
            name=name, value=value, read_only=False, config_source=source, is_sensitive=False
        )
        for name, (value, source) in (topic.configs or {}).items()
    ]
    return Created(
        name=topic.name,
        topic_id=wire_id(topic.topic_id),
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        configs=configs,
    )


def create_partitions(served: Served, request: Any, version: int) -> Script:
    """CreatePartitions."""
    times = Counter(topic.name for topic in request.topics)
    wanted = tuple(
        MorePartitions(
            topic.name,
            topic.count,
            None
            if topic.assignments is None
            else tuple(tuple(a.broker_ids) for a in topic.assignments),
        )
        for topic in request.topics
        if times[topic.name] == 1
    )
    answer = yield CreatePartitions(wanted, request.validate_only)
    outcomes = (
        [(topic.name, answer) for topic in wanted] if isinstance(answer, ApiError) else list(answer)
    )
    twice = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    outcomes += [(name, twice) for name, count in times.items() if count > 1]
    return m.CreatePartitionsResponse(
        throttle_time_ms=0,
        results=[
            Expanded(name=name, error_code=error.code, error_message=error.message)
            for name, error in outcomes
        ],
    )


# ---- delete --------------------------------------------------------------------------------------


def delete_topics(served: Served, request: Any, version: int) -> Script:
    """DeleteTopics, by names or by ids; ids are what the core deletes by."""
    if version >= _IDS_SINCE:
        asked = [(topic.name, text_id(topic.topic_id)) for topic in request.topics]
    else:
        asked = [(name, None) for name in request.topic_names]
    times = Counter(asked)
    rows: list[Any] = []
    found: dict[str, str] = {}  # names by id
    for name, topic_id in times:
        error, known_id, known_name = _to_delete(served, name, topic_id, times[name, topic_id])
        if error is None and known_id is not None and known_name is not None:
            found[known_id] = known_name
        else:
            rows.append(_deleted(known_name or name, known_id or topic_id, error))
    answer = yield DeleteTopics(tuple(found))
    for topic_id, name in found.items():
        error = answer if isinstance(answer, ApiError) else answer[topic_id]
        rows.append(_deleted(name, topic_id, error))
    return m.DeleteTopicsResponse(throttle_time_ms=0, responses=rows)


def _to_delete(
    served: Served, name: str | None, topic_id: str | None, times: int
) -> tuple[ApiError | None, str | None, str | None]:
    invalid = ErrorCode.INVALID_REQUEST
    if served.properties.get("delete.topic.enable", "true").lower() == "false":
        return ApiError(ErrorCode.TOPIC_DELETION_DISABLED, None), topic_id, name
    if (name is None) == (topic_id is None):
        reason = "Neither topic name nor id were specified."
        if name is not None:
            reason = "You may not specify both topic name and topic id."
        return ApiError(invalid, reason), topic_id, name
    if times > 1:
        what = "topic name" if topic_id is None else "topic id"
        return ApiError(invalid, f"Duplicate {what}."), topic_id, name
    image = served.stable
    if name is not None:
        found = image.topic_ids.get(name)
        unknown = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
        return (unknown if found is None else None), found, name
    assert topic_id is not None
    topic = image.topics.get(topic_id)
    if topic is None:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_ID, None), topic_id, None
    return None, topic_id, topic.name


def _deleted(name: str | None, topic_id: str | None, error: ApiError | None) -> Any:
    return Deleted(
        name=name,
        topic_id=wire_id(topic_id),
        error_code=code_of(error),
        error_message=message_of(error),
    )


# ---- moves and elections -------------------------------------------------------------------------


def alter_reassignments(served: Served, request: Any, version: int) -> Script:
    """AlterPartitionReassignments: start moves, or cancel those without replicas."""
    orders = tuple(
        ReassignmentOrder(
            topic.name,
            one.partition_index,
            None if one.replicas is None else tuple(one.replicas),
        )
        for topic in request.topics
        for one in topic.partitions
    )
    allows = request.allow_replication_factor_change if version >= 1 else True
    answer = yield AlterReassignments(orders, allows)
    if isinstance(answer, ApiError):
        return m.AlterPartitionReassignmentsResponse(
            error_code=answer.code, error_message=answer.message, responses=[]
        )
    partition = Moved.ReassignablePartitionResponse
    rows = [
        Moved(
            name=name,
            partitions=[
                partition(partition_index=number, error_code=e.code, error_message=e.message)
                for _, number, e in of_topic
            ],
        )
        for name, of_topic in groupby(answer, key=itemgetter(0))
    ]
    return m.AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=allows,
        error_code=ErrorCode.NONE,
        error_message=None,
        responses=rows,
    )


def list_reassignments(served: Served, request: Any, version: int) -> Any:
    """ListPartitionReassignments: what is committed."""
    if not served.is_active:
        return m.ListPartitionReassignmentsResponse(
            error_code=ErrorCode.NOT_CONTROLLER, error_message=None, topics=[]
        )
    named = request.topics
    asked = (
        None if named is None else tuple((t.name, p) for t in named for p in t.partition_indexes)
    )
    found = served.read(ListReassignments(asked))
    partition = Listed.OngoingPartitionReassignment
    rows = [
        Listed(
            name=name,
            partitions=[
                partition(
                    partition_index=one.partition,
                    replicas=list(one.replicas),
                    adding_replicas=list(one.adding),
                    removing_replicas=list(one.removing),
                )
                for one in of_topic
            ],
        )
        for name, of_topic in groupby(found, key=lambda one: one.topic)
    ]
    return m.ListPartitionReassignmentsResponse(
        error_code=ErrorCode.NONE, error_message=None, topics=rows
    )


def elect_leaders(served: Served, request: Any, version: int) -> Script:
    """ElectLeaders: preferred, or unclean ones."""
    asked = request.topic_partitions
    partitions = None if asked is None else tuple((t.topic, p) for t in asked for p in t.partitions)
    kind = request.election_type if version >= 1 else 0
    answer = yield ElectLeaders(kind, partitions)
    if isinstance(answer, ApiError):
        return m.ElectLeadersResponse(error_code=answer.code, replica_election_results=[])
    partition = Elected.PartitionResult
    rows = [
        Elected(
            topic=name,
            partition_result=[
                partition(partition_id=number, error_code=e.code, error_message=e.message)
                for _, number, e in of_topic
            ],
        )
        for name, of_topic in groupby(sorted(answer, key=itemgetter(0, 1)), key=itemgetter(0))
    ]
    return m.ElectLeadersResponse(error_code=ErrorCode.NONE, replica_election_results=rows)


HANDLERS: Handlers = {
    19: create_topics,
    20: delete_topics,
    37: create_partitions,
    43: elect_leaders,
    45: alter_reassignments,
    46: list_reassignments,
}
