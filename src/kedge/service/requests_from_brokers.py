"""Requests from brokers to the controller: ISR changes, controlled shutdowns, producer ids.

Each request becomes an event in the controller's queue, and the script's answer the response. While
the controller does not answer, because it lost the role or is still taking over, the response is
NOT_CONTROLLER: brokers look for the controller again and repeat the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kedge.controller.events import (
    IsrChangeRequested,
    ProducerIdsRequested,
    RequestedIsr,
    ShutdownRequested,
)
from kedge.controller.isr import IsrAnswer
from kedge.controller.shutdown import ShutdownAnswer
from kedge.endpoint.threads import Controller, ask_controller
from kedge.errors import Unavailable
from kedge.model import BrokerId, Recovery, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.protocol import broker_messages as m
from kedge.protocol.broker_apis import (
    ALLOCATE_PRODUCER_IDS,
    ALTER_PARTITION,
    CONTROLLED_SHUTDOWN,
    SENT_BY_BROKERS,
    BrokerHeader,
)

ANSWER_MS = 10_000
_IDS_SINCE = 2  # AlterPartition names topics by id
_MEMBERS_SINCE = 3


class BrokerRequests:
    """Answers the requests of brokers to one controller."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def answer(self, key: int, payload: bytes) -> bytes:
        """The framed answer to one of the three requests."""
        api = SENT_BY_BROKERS[key]
        header, request = api.decode_request(payload)
        response = await _ANSWERS[key](self, header, request)
        return api.encode_response(header, response)

    async def _ask(self, event: Any) -> Any:
        try:
            return await ask_controller(self._controller, event, ANSWER_MS)
        except Unavailable:
            return None

    # ---- AlterPartition -----------------------------------------------------------------------

    async def alter_partition(
        self, header: BrokerHeader, request: m.AlterPartitionRequest
    ) -> m.AlterPartitionResponse:
        """ISR changes (KIP-497)."""
        by_id = header.version >= _IDS_SINCE
        keys = [(t.topic_id or "") if by_id else t.topic for t in request.topics]
        topics: dict[str, Mapping[int, RequestedIsr]] = {
            key: {wish.partition: _wanted(wish, header.version) for wish in topic.partitions}
            for key, topic in zip(keys, request.topics, strict=True)
        }
        broker = BrokerId(request.broker)
        event = IsrChangeRequested(broker, request.broker_epoch, topics, header.version)
        answer = await self._ask(event)
        if not isinstance(answer, IsrAnswer) or answer.error is not ErrorCode.NONE:
            error = answer.error if isinstance(answer, IsrAnswer) else ErrorCode.NOT_CONTROLLER
            return m.AlterPartitionResponse(error)
        altered: list[m.AlteredTopic] = []
        for key, topic in zip(keys, request.topics, strict=True):
            name = answer.names.get(key, key)
            each = tuple(_altered_one(answer, name, wish.partition) for wish in topic.partitions)
            altered.append(
                m.AlteredTopic(each, topic_id=key or None)
                if by_id
                else m.AlteredTopic(each, topic=key)
            )
        return m.AlterPartitionResponse(ErrorCode.NONE, tuple(altered))

    # ---- ControlledShutdown and AllocateProducerIds -------------------------------------------

    async def controlled_shutdown(
        self, header: BrokerHeader, request: m.ControlledShutdownRequest
    ) -> m.ControlledShutdownResponse:
        """Permission to shut down, once other brokers lead the broker's partitions."""
        event = ShutdownRequested(BrokerId(request.broker), request.broker_epoch)
        answer = await self._ask(event)
        if not isinstance(answer, ShutdownAnswer):
            return m.ControlledShutdownResponse(ErrorCode.NOT_CONTROLLER)
        remaining = tuple(m.RemainingPartition(*tp) for tp in answer.remaining)
        return m.ControlledShutdownResponse(answer.error, remaining)

    async def allocate_producer_ids(
        self, header: BrokerHeader, request: m.AllocateProducerIdsRequest
    ) -> m.AllocateProducerIdsResponse:
        """The next block of ids."""
        event = ProducerIdsRequested(BrokerId(request.broker), request.broker_epoch)
        answer = await self._ask(event)
        if isinstance(answer, tuple):
            first, length = answer  # pyright: ignore[reportUnknownVariableType]
            return m.AllocateProducerIdsResponse(ErrorCode.NONE, first, length)
        error = answer if isinstance(answer, ErrorCode) else ErrorCode.NOT_CONTROLLER
        return m.AllocateProducerIdsResponse(error)


_ANSWERS: Mapping[int, Any] = {
    ALTER_PARTITION.key: BrokerRequests.alter_partition,
    CONTROLLED_SHUTDOWN.key: BrokerRequests.controlled_shutdown,
    ALLOCATE_PRODUCER_IDS.key: BrokerRequests.allocate_producer_ids,
}


def _wanted(wish: m.RequestedPartition, version: int) -> RequestedIsr:
    members = [each.broker for each in wish.members] if version >= _MEMBERS_SINCE else wish.isr
    return RequestedIsr(
        tuple(map(BrokerId, members)),
        wish.leader_epoch,
        wish.partition_epoch,
        Recovery.RECOVERING if wish.recovery == Recovery.RECOVERING.value else Recovery.RECOVERED,
    )


def _altered_one(answer: IsrAnswer, topic: str, partition: int) -> m.AlteredPartition:
    """The outcome for a partition."""
    tp = TopicPartition(topic, partition)
    now = answer.stored.get(tp)
    if now is not None:
        epochs = (now.leader, now.leader_epoch, now.isr, now.recovery.value)
        return m.AlteredPartition(partition, ErrorCode.NONE, *epochs, now.partition_epoch)
    error = answer.errors.get(tp, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return m.AlteredPartition(partition, error)
