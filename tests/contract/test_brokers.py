"""What every adapter of the broker port does, on TCP and simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from kedge.brokers.port import BrokerLink
from kedge.model import BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.model.broker_requests import BrokerAnswer, LeaderAndIsr, LeaderAndIsrEntry, Sender
from kedge.model.error_codes import ErrorCode
from tests.contract.broker_backends import (
    CONTROLLER,
    BrokersBackend,
    SimulatedBackend,
    WireBackend,
)

ONE, TWO = BrokerId(1), BrokerId(2)
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAABw"


@pytest.fixture(params=[SimulatedBackend, WireBackend], ids=["simulated", "wire"])
def backend(request: pytest.FixtureRequest) -> Iterator[BrokersBackend]:
    made: BrokersBackend = request.param()
    yield made
    made.close()


class Sent:
    """A link, and the answers in the sequence of their arrival."""

    def __init__(self, backend: BrokersBackend, broker: int) -> None:
        self.link: BrokerLink = backend.brokers.open(backend.broker(broker), epoch=-1)
        self.answers: list[tuple[int, BrokerAnswer]] = []
        self._broker = BrokerId(broker)

    def send(self, partitions: Sequence[int]) -> None:
        for partition in partitions:
            self.link.send(
                leader_and_isr(self._broker, partition),
                lambda answer, partition=partition: self.answers.append((partition, answer)),
            )

    @property
    def answered(self) -> list[int]:
        return [partition for partition, _ in self.answers]


def leader_and_isr(to: BrokerId, partition: int) -> LeaderAndIsr:
    entry = LeaderAndIsrEntry(
        Leadership(ONE, (ONE, TWO), 3, 4, 5), ReplicaAssignment((ONE, TWO)), is_new=True
    )
    entries = {TopicPartition("t", partition): entry}
    return LeaderAndIsr(to, 7, Sender(CONTROLLER, 5, -1), entries, {"t": TOPIC_ID}, ())


def first_seen(numbers: Sequence[int]) -> list[int]:
    return list(dict.fromkeys(numbers))


def test_requests_are_received_and_answered_in_sequence(backend: BrokersBackend) -> None:
    backend.start(1)
    sent = Sent(backend, 1)
    sent.send(range(20))
    backend.wait_until(lambda: len(sent.answers) == 20)
    assert backend.received(1) == sent.answered == list(range(20))
    assert {answer.error for _, answer in sent.answers} == {ErrorCode.NONE}
    partition, answer = sent.answers[7]
    assert answer.errors == {TopicPartition("t", partition): ErrorCode.NONE}


def test_a_broker_that_starts_later_gets_what_was_sent_before(backend: BrokersBackend) -> None:
    sent = Sent(backend, 1)
    sent.send(range(3))
    backend.wait()
    assert sent.answers == []
    backend.start(1)
    backend.wait_until(lambda: len(sent.answers) == 3)
    assert backend.received(1) == sent.answered == [0, 1, 2]


def test_a_request_without_a_response_is_sent_again(backend: BrokersBackend) -> None:
    backend.break_connection_at(1, 3)
    backend.start(1)
    sent = Sent(backend, 1)
    sent.send(range(6))
    backend.wait_until(lambda: len(sent.answers) == 6)
    assert sent.answered == [0, 1, 2, 3, 4, 5]
    assert backend.received(1).count(2) == 2
    assert first_seen(backend.received(1)) == [0, 1, 2, 3, 4, 5]


def test_a_closed_link_drops_what_is_not_answered(backend: BrokersBackend) -> None:
    closed = Sent(backend, 1)
    closed.send(range(3))
    closed.link.close()
    backend.start(1)
    other = Sent(backend, 1)
    other.send([7])
    backend.wait_until(lambda: other.answers)
    backend.wait()
    assert closed.answers == []
    assert not {1, 2} & set(backend.received(1))  # 0 was under way, and may arrive


def test_a_broker_that_is_down_delays_no_other(backend: BrokersBackend) -> None:
    backend.start(2)
    down, up = Sent(backend, 1), Sent(backend, 2)
    down.send(range(3))
    up.send(range(3))
    backend.wait_until(lambda: len(up.answers) == 3)
    assert (up.answered, down.answers) == ([0, 1, 2], [])
