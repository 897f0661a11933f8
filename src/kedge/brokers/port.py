"""The port to single brokers: one link per broker, requests answered in the order they were sent.

A link has one request in flight and tries it again until it is answered or the link is closed, so
the sender never learns of a lost connection: only of the answer, or of nothing at all.

    link = brokers.open(broker, epoch=81)
    link.send(LeaderAndIsr(...), lambda answer: queue.put(...))
    link.close()            # what was not answered is dropped
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kedge.model import Broker
from kedge.model.broker_requests import BrokerAnswer, BrokerRequest

Answered = Callable[[BrokerAnswer], None]


class BrokerLink(Protocol):
    """The way to one broker."""

    def send(self, request: BrokerRequest, answered: Answered) -> None:
        """Queue a request. `answered` may be called from any thread, or at once, or never; it
        must only put something in a queue."""
        ...

    def close(self) -> None:
        """Give the broker up; requests not yet answered are dropped."""
        ...


class Brokers(Protocol):
    """Where links come from."""

    def open(self, broker: Broker, *, epoch: int) -> BrokerLink:
        """A link to a broker as it registered itself; the epoch tells one registration from the
        next."""
        ...
