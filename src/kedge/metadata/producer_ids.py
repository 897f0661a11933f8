"""Blocks of producer ids for idempotent and transactional producers."""

from __future__ import annotations

from dataclasses import dataclass

from kedge.metadata.decision import Decision, Situation, of_version_0
from kedge.metadata.records import ProducerIdsRecord
from kedge.metadata.refusal import Refused
from kedge.metadata.registrations import check_broker_epoch
from kedge.model.error_codes import ErrorCode
from kedge.model.java_text import INT64_MAX

BLOCK = 1_000


@dataclass(frozen=True, slots=True)
class AllocateProducerIds:
    """AllocateProducerIds."""

    broker: int
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """A block that only one broker may use."""

    start: int
    length: int = BLOCK


def allocate_producer_ids(at: Situation, request: AllocateProducerIds) -> Decision[ProducerIdBlock]:
    """Give the next block to a broker; a fenced broker gets one too."""
    check_broker_epoch(at.image, request.broker, request.broker_epoch)
    start = at.image.next_producer_id or 0
    if start > INT64_MAX - BLOCK:
        raise Refused(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            "Exhausted all producerIds as the next block's end "
            f"producerId has exceeded the int64 type limit (current block start is {start})",
        )
    record = ProducerIdsRecord(request.broker, request.broker_epoch, start + BLOCK)
    return Decision(ProducerIdBlock(start), of_version_0([record]))
