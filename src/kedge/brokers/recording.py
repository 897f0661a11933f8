"""Brokers that record every request and give prepared answers.

For tests of a controller alone: no data, no followers, no delay. By default every request is
answered with success, at once.

    brokers = RecordingBrokers()
    brokers.answer(BrokerId(2), LeaderAndIsr, ErrorCode.KAFKA_STORAGE_ERROR, {tp})
    brokers.stay_silent(BrokerId(3), StopReplica)
    ...
    brokers.sent        # every request, in the order of sending
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from kedge.brokers.port import Answered, BrokerLink
from kedge.model import Broker, BrokerId, TopicPartition
from kedge.model.broker_requests import BrokerAnswer, BrokerRequest, UpdateMetadata
from kedge.model.error_codes import ErrorCode

Behaviour = Callable[[BrokerRequest], BrokerAnswer | None]


@dataclass
class RecordingBrokers:
    """All brokers of a test."""

    sent: list[BrokerRequest] = field(default_factory=list[BrokerRequest])
    _behaviours: dict[tuple[BrokerId, type], Behaviour] = field(
        default_factory=dict[tuple[BrokerId, type], Behaviour]
    )

    def open(self, broker: Broker, *, epoch: int) -> BrokerLink:
        """A link that records."""
        return RecordingLink(self)

    def stay_silent(self, broker: BrokerId, api: type[BrokerRequest]) -> None:
        """Never answer such a request."""
        self._behaviours[broker, api] = lambda _: None

    def succeed(self, broker: BrokerId, api: type[BrokerRequest]) -> None:
        """Answer such requests with success again."""
        self._behaviours.pop((broker, api), None)

    def answer(
        self,
        broker: BrokerId,
        api: type[BrokerRequest],
        error: ErrorCode,
        partitions: Collection[TopicPartition] | None = None,
    ) -> None:
        """Answer such requests with an error for these partitions, or for all of them."""
        self._behaviours[broker, api] = lambda request: BrokerAnswer(
            ErrorCode.NONE,
            {
                tp: error if partitions is None or tp in partitions else ErrorCode.NONE
                for tp in request.partitions
            },
        )

    def receive(self, request: BrokerRequest, answered: Answered) -> None:
        """Write a request down and answer it."""
        self.sent.append(request)
        behave = self._behaviours.get((request.to, type(request)), success)
        answer = behave(request)
        if answer is not None:
            answered(answer)


def success(request: BrokerRequest) -> BrokerAnswer:
    """Everything went well."""
    if isinstance(request, UpdateMetadata):
        return BrokerAnswer()
    return BrokerAnswer(errors=dict.fromkeys(request.partitions, ErrorCode.NONE))


class RecordingLink:
    """A link to a broker that only writes down."""

    def __init__(self, brokers: RecordingBrokers) -> None:
        self._brokers = brokers
        self._closed = False

    def send(self, request: BrokerRequest, answered: Answered) -> None:
        """Hand a request over."""
        if not self._closed:
            self._brokers.receive(request, answered)

    def close(self) -> None:
        """Give the broker up."""
        self._closed = True
