"""The port to single brokers: one link per broker, with responses in the order of the requests.

A link sends a request again until it is answered or the link is closed. The sender receives the
response or nothing; connection failures are not reported.

    link = brokers.open(broker, epoch=81)
    link.send(LeaderAndIsr(...), lambda answer: queue.put(...))
    link.close()            # unanswered requests are dropped
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kedge.model import Broker
from kedge.model.broker_requests import BrokerAnswer, BrokerRequest

Answered = Callable[[BrokerAnswer], None]


class BrokerLink(Protocol):
    """A link to one broker."""

    def send(self, request: BrokerRequest, answered: Answered) -> None:
        """Queue a request. `answered` may be called from any thread, before `send` returns, or
        never; it must only put an event in a queue."""
        ...

    def close(self) -> None:
        """Close the link; unanswered requests are dropped."""
        ...


class Brokers(Protocol):
    """A factory of links."""

    def open(self, broker: Broker, *, epoch: int) -> BrokerLink:
        """Open a link to a registered broker; the epoch identifies the registration."""
        ...
