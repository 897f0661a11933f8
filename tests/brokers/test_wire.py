"""Links over TCP: order, answers, broken connections, brokers that do not listen yet."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator

import pytest

from kedge.brokers.wire import IN_FLIGHT, WireBrokers
from kedge.brokers.wire_forms import Address
from kedge.model import Broker, BrokerId, Endpoint, Leadership, ReplicaAssignment, TopicPartition
from kedge.model.broker_requests import (
    BrokerAnswer,
    BrokerRequest,
    LeaderAndIsr,
    LeaderAndIsrEntry,
    MetadataEntry,
    Sender,
    StopEntry,
    StopReplica,
    UpdateMetadata,
)
from kedge.model.error_codes import ErrorCode
from kedge.protocol import broker_messages as m
from tests.brokers.fake_broker import FakeBroker

ONE, TWO = BrokerId(1), BrokerId(2)
SENDER = Sender(BrokerId(1000), 5, 81)
TP = TopicPartition("t", 0)
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAABw"
NOW = Leadership(ONE, (ONE, TWO), 3, 4, 5)
ASSIGNED = ReplicaAssignment((ONE, TWO))


def metadata(live: tuple[Broker, ...] = (), epoch: int = 0) -> UpdateMetadata:
    sender = Sender(SENDER.controller, epoch or SENDER.controller_epoch, SENDER.broker_epoch)
    entries = {TP: MetadataEntry(NOW, ASSIGNED.replicas, ())}
    return UpdateMetadata(ONE, 8, sender, entries, {"t": TOPIC_ID}, live)


def lead(number: int = 0) -> LeaderAndIsr:
    entries = {TopicPartition("t", number): LeaderAndIsrEntry(NOW, ASSIGNED, is_new=True)}
    return LeaderAndIsr(ONE, 7, SENDER, entries, {"t": TOPIC_ID}, ())


def stop() -> StopReplica:
    return StopReplica(ONE, 4, SENDER, {TP: StopEntry(3, delete=True)})


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    made = FakeBroker()
    yield made
    made.close()


@pytest.fixture
def wire() -> Iterator[WireBrokers]:
    made = WireBrokers(node=BrokerId(1000), at=Address("127.0.0.1", 9090))
    yield made
    made.close()


Answered = queue.Queue[tuple[BrokerRequest, BrokerAnswer]]


def sending(
    wire: WireBrokers, broker: FakeBroker
) -> tuple[Callable[[BrokerRequest], None], Answered]:
    link, answers = wire.open(broker.broker, epoch=81), Answered()

    def send(request: BrokerRequest) -> None:
        link.send(request, lambda answer: answers.put((request, answer)))

    return send, answers


def until(done: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_requests_are_heard_and_answered_in_order(wire: WireBrokers, broker: FakeBroker) -> None:
    send, answers = sending(wire, broker.listen())
    requests = [metadata(), *map(lead, range(3 * IN_FLIGHT)), stop()]
    for request in requests:
        send(request)
    found = [answers.get(timeout=10) for _ in requests]
    assert [request for request, _ in found] == requests
    assert [key for key, *_ in broker.heard] == [6, *[4] * 3 * IN_FLIGHT, 5]
    assert all(answer.error is ErrorCode.NONE for _, answer in found)
    assert found[1][1].errors == {TP: ErrorCode.NONE}
    assert found[-1][1].errors == {TP: ErrorCode.NONE}


def test_several_requests_are_on_their_way_at_once(wire: WireBrokers, broker: FakeBroker) -> None:
    broker.hold.clear()
    send, answers = sending(wire, broker.listen())
    for number in range(IN_FLIGHT + 5):
        send(lead(number))
    until(lambda: wire.traffic.sent["LeaderAndIsr"] >= IN_FLIGHT)
    assert wire.outstanding() == {ONE: IN_FLIGHT + 5}
    broker.hold.set()
    for _ in range(IN_FLIGHT + 5):
        answers.get(timeout=10)
    assert wire.traffic.sent["LeaderAndIsr"] == IN_FLIGHT + 5


def test_what_was_not_answered_is_sent_again_in_its_order(
    wire: WireBrokers, broker: FakeBroker
) -> None:
    broker.drop_after = 3
    send, answers = sending(wire, broker.listen())
    requests = [lead(number) for number in range(6)]
    for request in requests:
        send(request)
    assert [answers.get(timeout=10)[0] for _ in requests] == requests
    numbers = [request.topics[0].partitions[0].partition for _, _, request in broker.heard]
    assert numbers == [0, 1, 2, 2, 3, 4, 5]
    assert broker.connections == 2


def test_a_broker_that_does_not_listen_yet_is_tried_until_it_does(
    wire: WireBrokers, broker: FakeBroker
) -> None:
    send, answers = sending(wire, broker)
    send(metadata())
    time.sleep(0.1)
    assert wire.slowest() is None
    broker.listen()
    assert answers.get(timeout=10)[1] == BrokerAnswer(ErrorCode.NONE)


def test_the_slowest_is_one_that_knows_something(wire: WireBrokers, broker: FakeBroker) -> None:
    other = FakeBroker(broker=2)
    try:
        send, answers = sending(wire, broker.listen())
        send(metadata())
        answers.get(timeout=10)
        assert wire.slowest() == ONE
        other.hold.clear()
        send_other, answers_other = sending(wire, other.listen())
        send_other(metadata())
        until(lambda: other.heard)
        assert wire.slowest() == ONE  # the other has begun, and could not tell anybody anything
        other.hold.set()
        answers_other.get(timeout=10)
        other.hold.clear()
        send_other(metadata())
        until(lambda: len(other.heard) == 2)
        assert wire.slowest() == TWO
    finally:
        other.close()


def test_what_is_not_answered_when_a_link_is_closed_is_dropped(
    wire: WireBrokers, broker: FakeBroker
) -> None:
    link, answers = wire.open(broker.broker, epoch=81), Answered()
    link.send(lead(), lambda answer: answers.put((lead(), answer)))
    link.close()
    broker.listen()
    send, others = sending(wire, broker)
    send(stop())
    others.get(timeout=10)
    assert [key for key, *_ in broker.heard] == [5]
    assert answers.empty()


def test_the_controller_is_listed_as_a_node_of_all_plain_listeners(
    wire: WireBrokers, broker: FakeBroker
) -> None:
    endpoints = (Endpoint("A", "h", 1), Endpoint("B", "h", 2), Endpoint("C", "h", 3, "SSL"))
    send, answers = sending(wire, broker.listen())
    send(metadata((Broker(TWO, "r", endpoints=endpoints),)))
    answers.get(timeout=10)
    ((_, _, request),) = broker.heard
    two, me = request.content.live_brokers
    assert two == m.LiveBroker(
        2,
        (
            m.BrokerEndpoint(1, "h", "A", 0),
            m.BrokerEndpoint(2, "h", "B", 0),
            m.BrokerEndpoint(3, "h", "C", 1),
        ),
        "r",
    )
    assert me == m.LiveBroker(
        1000,
        (
            m.BrokerEndpoint(9090, "127.0.0.1", "A", 0),
            m.BrokerEndpoint(9090, "127.0.0.1", "B", 0),
        ),
    )


def test_a_stale_epoch_comes_back_as_the_error_of_the_whole(wire: WireBrokers) -> None:
    refusing = FakeBroker(lambda key, _: m.LeaderAndIsrResponse(77)).listen()
    send, answers = sending(wire, refusing)
    send(lead())
    assert answers.get(timeout=10)[1] == BrokerAnswer(ErrorCode.STALE_BROKER_EPOCH, {})
    refusing.close()


def test_a_broker_without_a_plain_listener_is_never_reached_and_harms_nobody(
    wire: WireBrokers, broker: FakeBroker, caplog: pytest.LogCaptureFixture
) -> None:
    secret = Broker(TWO, endpoints=(Endpoint("SSL", "h", 1, "SSL"),))
    wire.open(secret, epoch=1).send(lead(), lambda _: pytest.fail("nobody can have answered"))
    send, answers = sending(wire, broker.listen())
    send(lead())
    answers.get(timeout=10)
    assert "broker 2 has no listener that Kedge can speak to" in caplog.text
