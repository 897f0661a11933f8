"""Handlers of CreateTopics, CreatePartitions and DeleteTopics, answered by the controller alone."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.endpoint.config_entries import ConfigEntry
from kedge.endpoint.config_requests import TopicEntries
from kedge.endpoint.handlers.call import Call, text_id, wire_id
from kedge.endpoint.handlers.configs import SOURCES
from kedge.endpoint.topic_requests import DeletedTopic
from kedge.errors import KedgeError, TopicDeletionDisabled
from kedge.model import BrokerId
from kedge.model.error_codes import ErrorCode
from kedge.protocol import code_of, message_of
from kedge.protocol.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kedge.store.znodes import TopicAssignment
from kedge.topic_changes import WrittenTopic
from kedge.topics import CreateRequest, DeleteRequest, ExpandRequest

Created = CreateTopicsResponse.CreatableTopicResult
CreatedConfig = Created.CreatableTopicConfigs
Expanded = CreatePartitionsResponse.CreatePartitionsTopicResult
Deleted = DeleteTopicsResponse.DeletableTopicResult

# from these versions on a client understands THROTTLING_QUOTA_EXCEEDED (KIP-599)
_CREATE_STRICT, _EXPAND_STRICT, _DELETE_STRICT = 6, 3, 5
_DISABLED_SINCE = 3  # older versions have no error for disabled deletion
_IDS_SINCE = 6

CONFIGS_TOPICS_MAX = 5_000  # the response to a request for more topics leaves their configs out


# ---- create --------------------------------------------------------------------------------------


async def create_topics(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Create topics; each occurrence of a repeated name is refused."""
    charge = call.charge(strict_since=_CREATE_STRICT)
    wanted = [_create_request(topic) for topic in request.topics]
    try:
        call.require_controller()
        created = await call.backend.topics.create(
            call.node,
            wanted,
            timeout_ms=request.timeout_ms,
            validate_only=request.validate_only,
            charge=charge,
        )
    except KedgeError as refusal:
        results = [_not_created(w.name, refusal) for w in wanted]
    else:
        shown = created.entries if len(wanted) <= CONFIGS_TOPICS_MAX else None
        configs = _CreatedConfigs(shown)
        results = [
            _created(w.name, a, configs) for w, a in zip(wanted, created.answers, strict=True)
        ]
    return CreateTopicsResponse(throttle_time_ms=charge.throttle_ms, topics=results)


class _CreatedConfigs:
    """The configs in a response, made once for topics that have the same; none at all without
    entries."""

    def __init__(self, entries: TopicEntries | None) -> None:
        self._entries = entries
        self._made: dict[int, list[CreatedConfig]] = {}

    def of(self, written: WrittenTopic) -> list[CreatedConfig]:
        if self._entries is None:
            return []
        entries = self._entries.of(written.topic.configs)
        found = self._made.get(id(entries))
        if found is None:
            found = self._made[id(entries)] = [_created_config(entry) for entry in entries]
        return found


def _create_request(topic: CreateTopicsRequest.CreatableTopic) -> CreateRequest:
    return CreateRequest(
        name=topic.name,
        partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments={a.partition_index: _brokers(a.broker_ids) for a in topic.assignments},
        configs={config.name: config.value for config in topic.configs},
    )


def _brokers(ids: Sequence[int]) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, ids))


def _not_created(name: str, refusal: KedgeError) -> Created:
    code, message = _refusal(refusal)
    return Created(name=name, error_code=code, error_message=message, configs=[])


def _created(name: str, answer: WrittenTopic | KedgeError, configs: _CreatedConfigs) -> Created:
    if isinstance(answer, KedgeError):
        return _not_created(name, answer)
    return Created(
        name=name,
        topic_id=wire_id(answer.topic_id),
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=answer.topic.partitions,
        replication_factor=answer.topic.replication_factor,
        configs=configs.of(answer),
    )


def _created_config(entry: ConfigEntry) -> CreatedConfig:
    return CreatedConfig(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=SOURCES[entry.source],
        is_sensitive=entry.sensitive,
    )


# ---- expand --------------------------------------------------------------------------------------


async def create_partitions(
    call: Call, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    """Add partitions to topics."""
    charge = call.charge(strict_since=_EXPAND_STRICT)
    wanted = [_expand_request(topic) for topic in request.topics]
    try:
        call.require_controller()
        answers = await call.backend.topics.expand(
            call.node,
            wanted,
            timeout_ms=request.timeout_ms,
            validate_only=request.validate_only,
            charge=charge,
        )
    except KedgeError as refusal:
        answers = [refusal for _ in wanted]
    results = {w.topic: _expanded(w.topic, a) for w, a in zip(wanted, answers, strict=True)}
    return CreatePartitionsResponse(
        throttle_time_ms=charge.throttle_ms, results=list(results.values())
    )


def _expand_request(topic: CreatePartitionsRequest.CreatePartitionsTopic) -> ExpandRequest:
    lists = topic.assignments
    assignments = None if lists is None else [_brokers(each.broker_ids) for each in lists]
    return ExpandRequest(topic.name, topic.count, assignments)


def _expanded(name: str, answer: TopicAssignment | KedgeError) -> Expanded:
    code, message = _refusal(answer) if isinstance(answer, KedgeError) else (ErrorCode.NONE, None)
    return Expanded(name=name, error_code=code, error_message=message)


# ---- delete --------------------------------------------------------------------------------------


async def delete_topics(call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """Delete topics, by name or (from version 6 on) by id."""
    charge = call.charge(strict_since=_DELETE_STRICT)
    wanted = _delete_requests(call, request)
    try:
        call.require_controller()
        answers = await call.backend.topics.delete(
            call.node, wanted, timeout_ms=request.timeout_ms, charge=charge
        )
    except KedgeError as refusal:
        answers = [refusal for _ in wanted]
    return DeleteTopicsResponse(
        throttle_time_ms=charge.throttle_ms,
        responses=[_deleted(call, w, a) for w, a in zip(wanted, answers, strict=True)],
    )


def _delete_requests(call: Call, request: DeleteTopicsRequest) -> list[DeleteRequest]:
    if call.version >= _IDS_SINCE:
        return [DeleteRequest(topic.name, text_id(topic.topic_id)) for topic in request.topics]
    return [DeleteRequest(name) for name in request.topic_names]


def _deleted(call: Call, wanted: DeleteRequest, answer: DeletedTopic | KedgeError) -> Deleted:
    if isinstance(answer, DeletedTopic):
        topic_id = wire_id(answer.topic_id)
        return Deleted(name=answer.name, topic_id=topic_id, error_code=ErrorCode.NONE)
    code, message = _refusal(answer)
    if isinstance(answer, TopicDeletionDisabled) and call.version < _DISABLED_SINCE:
        code = ErrorCode.INVALID_REQUEST
    topic_id = wire_id(wanted.topic_id)
    return Deleted(name=wanted.name, topic_id=topic_id, error_code=code, error_message=message)


def _refusal(error: KedgeError) -> tuple[ErrorCode, str]:
    return code_of(error), message_of(error)
