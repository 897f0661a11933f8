"""Holds the links to all registered brokers, and turns their responses into events."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kedge.brokers.port import BrokerLink, Brokers
from kedge.controller.context import Registration
from kedge.controller.events import (
    Event,
    LeaderAndIsrAnswered,
    ReplicasDeleted,
    UpdateMetadataAnswered,
)
from kedge.model import BrokerId
from kedge.model.broker_requests import (
    BrokerAnswer,
    BrokerRequest,
    LeaderAndIsr,
    StopReplica,
    UpdateMetadata,
)


class Links:
    """One link per broker. A response after its link was closed is dropped."""

    def __init__(self, brokers: Brokers, put: Callable[[Event], None]) -> None:
        self._brokers = brokers
        self._put = put
        self._open: dict[BrokerId, BrokerLink] = {}

    def open(self, registrations: Iterable[Registration]) -> None:
        """Open links; an open one is replaced."""
        for registration in registrations:
            broker = registration.broker
            self.close([broker.id])
            self._open[broker.id] = self._brokers.open(broker, epoch=registration.epoch)

    def close(self, brokers: Iterable[BrokerId]) -> None:
        """Close links."""
        for broker in brokers:
            link = self._open.pop(broker, None)
            if link is not None:
                link.close()

    def close_all(self) -> None:
        """Close every link."""
        self.close(list(self._open))

    def send(self, requests: Iterable[BrokerRequest]) -> None:
        """Send requests in sequence; those to brokers without a link are dropped."""
        for request in requests:
            link = self._open.get(request.to)
            if link is not None:
                link.send(request, self._answered(link, request))

    def _answered(self, link: BrokerLink, request: BrokerRequest) -> Callable[[BrokerAnswer], None]:
        def answered(answer: BrokerAnswer) -> None:
            if self._open.get(request.to) is link:
                event = event_of(request, answer)
                if event is not None:
                    self._put(event)

        return answered


def event_of(request: BrokerRequest, answer: BrokerAnswer) -> Event | None:
    """Return the event of a response, or None."""
    errors = answer.errors or {}
    match request:
        case LeaderAndIsr():
            return LeaderAndIsrAnswered(request.to, errors, answer.error, *_asked(request))
        case UpdateMetadata():
            return UpdateMetadataAnswered(request.to, answer.error) if answer.error else None
        case StopReplica(partitions=partitions):
            deleted = {
                tp: code
                for tp, code in errors.items()
                if tp in partitions and partitions[tp].delete
            }
            if not deleted:
                return None
            return ReplicasDeleted(request.to, deleted, answer.error, *_asked(request))


def _asked(request: BrokerRequest) -> tuple[int, int]:
    """Return the controller epoch and the broker epoch of a request."""
    return request.sender.controller_epoch, request.sender.broker_epoch
