"""ElectLeaders (KIP-183, KIP-460): the controller's alone, answered when the leaders are known."""

from __future__ import annotations

from kedge.controller.events import ElectionType
from kedge.endpoint.backend import Outcomes
from kedge.endpoint.call import Call
from kedge.endpoint.handlers.by_topic import by_topic, flat
from kedge.endpoint.handlers.words import words_for
from kedge.errors import InvalidRequest, KedgeError
from kedge.model import TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.protocol import code_of
from kedge.protocol.messages import ElectLeadersRequest, ElectLeadersResponse

Result = ElectLeadersResponse.ReplicaElectionResult
PartitionResult = Result.PartitionResult

_TYPES = {0: ElectionType.PREFERRED, 1: ElectionType.UNCLEAN}


async def elect_leaders(call: Call, request: ElectLeadersRequest) -> ElectLeadersResponse:
    """Elect for these partitions, or for all; of all, only those where something happened are
    named in the answer."""
    asked = request.topic_partitions
    partitions = _all(call) if asked is None else flat((t.topic, t.partitions) for t in asked)
    try:
        kind = _kind(request.election_type)
        outcomes = await call.backend.elect_leaders(
            call.node, partitions, kind, timeout_ms=request.timeout_ms
        )
    except InvalidRequest as refusal:
        return ElectLeadersResponse(error_code=code_of(refusal), replica_election_results=[])
    except KedgeError as refusal:
        # told beside each partition: only what is wrong with the request itself stands above them
        outcomes = dict.fromkeys(partitions, code_of(refusal))
    if asked is None:
        unneeded = ErrorCode.ELECTION_NOT_NEEDED
        outcomes = {tp: code for tp, code in outcomes.items() if code is not unneeded}
    return ElectLeadersResponse(
        error_code=ErrorCode.NONE, replica_election_results=_results(outcomes)
    )


def _kind(number: int) -> ElectionType:
    if number not in _TYPES:
        raise InvalidRequest(f"election type {number} is not known")
    return _TYPES[number]


def _all(call: Call) -> list[TopicPartition]:
    return flat((name, topic.partitions) for name, topic in call.image.topics.items())


def _results(outcomes: Outcomes) -> list[Result]:
    return [
        Result(
            topic=topic,
            partition_result=[
                PartitionResult(partition_id=number, error_code=code, error_message=words_for(code))
                for number, code in codes.items()
            ],
        )
        for topic, codes in by_topic(outcomes).items()
    ]
