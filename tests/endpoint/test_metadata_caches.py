"""What brokers believe: taken down as they accept it, shared where they agree."""

from __future__ import annotations

from kedge.brokers.port import Answered, BrokerLink
from kedge.brokers.recording import RecordingBrokers
from kedge.endpoint import MetadataCaches
from kedge.endpoint.metadata_caches import EMPTY
from kedge.model import Broker, BrokerId, Leadership, TopicPartition
from kedge.model.broker_requests import (
    DELETED_LEADER,
    BrokerAnswer,
    BrokerRequest,
    LeaderAndIsr,
    MetadataEntry,
    Sender,
    UpdateMetadata,
)
from kedge.model.error_codes import ErrorCode

ONE, TWO = BrokerId(1), BrokerId(2)
EVERYONE = (Broker(ONE), Broker(TWO))
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
Entries = dict[TopicPartition, MetadataEntry]


def entry(leader: int) -> MetadataEntry:
    return MetadataEntry(Leadership(BrokerId(leader), (ONE,)), (ONE, TWO), ())


def update(to: BrokerId, entries: Entries, ids: dict[str, str] | None = None) -> UpdateMetadata:
    return UpdateMetadata(to, 8, Sender(ONE, 1, 5), entries, ids or {}, EVERYONE)


def ignore(_answer: BrokerAnswer) -> None:
    pass


def open_all(images: MetadataCaches) -> dict[BrokerId, BrokerLink]:
    return {broker.id: images.open(broker, epoch=5) for broker in EVERYONE}


def test_a_cache_has_what_its_broker_accepted_and_nothing_else() -> None:
    images = MetadataCaches(RecordingBrokers())
    links = open_all(images)
    links[ONE].send(update(ONE, {T0: entry(1)}, {"t": "id-of-t"}), ignore)
    known = images.cache(ONE)
    assert (known.controller, sorted(known.brokers)) == (1, [1, 2])
    assert known.entry(T0) == entry(1)
    assert known.names_by_id == {"id-of-t": "t"}
    assert images.cache(TWO) == EMPTY
    assert images.cache(BrokerId(9)) == EMPTY


def test_partitions_are_added_changed_and_forgotten_one_by_one() -> None:
    images = MetadataCaches(RecordingBrokers())
    link = open_all(images)[ONE]
    ids = {"t": "a", "u": "b"}
    link.send(update(ONE, {T0: entry(1), T1: entry(1), U0: entry(1)}, ids), ignore)
    before = images.cache(ONE)
    link.send(update(ONE, {T0: entry(2)}, ids), ignore)
    assert images.cache(ONE).entry(T0) == entry(2)
    assert images.cache(ONE).entry(T1) == entry(1)
    link.send(update(ONE, {T1: entry(DELETED_LEADER)}, ids), ignore)
    assert images.cache(ONE).entry(T1) is None
    link.send(update(ONE, {T0: entry(DELETED_LEADER)}), ignore)
    after = images.cache(ONE)
    assert (set(after.topics), dict(after.names_by_id)) == ({"u"}, {"b": "u"})
    # a cache that was taken before has not changed
    assert before.entry(T1) == entry(1)
    assert before.entry(T0) == entry(1)


def test_brokers_that_are_sent_the_same_share_one_cache() -> None:
    images = MetadataCaches(RecordingBrokers())
    links = open_all(images)
    entries: Entries = {T0: entry(1)}
    for broker, link in links.items():
        link.send(update(broker, entries), ignore)
    assert images.cache(ONE) is images.cache(TWO)
    links[ONE].send(update(ONE, {U0: entry(2)}), ignore)
    assert images.cache(TWO).entry(U0) is None


def test_what_a_broker_refuses_it_does_not_know() -> None:
    class Refusing(RecordingBrokers):
        def receive(self, request: BrokerRequest, answered: Answered) -> None:
            answered(BrokerAnswer(ErrorCode.STALE_CONTROLLER_EPOCH))

    images = MetadataCaches(Refusing())
    heard: list[BrokerAnswer] = []
    open_all(images)[ONE].send(update(ONE, {T0: entry(1)}), heard.append)
    assert images.cache(ONE) == EMPTY
    assert [answer.error for answer in heard] == [ErrorCode.STALE_CONTROLLER_EPOCH]


def test_a_broker_that_begins_anew_knows_nothing() -> None:
    images = MetadataCaches(RecordingBrokers())
    open_all(images)[ONE].send(update(ONE, {T0: entry(1)}), ignore)
    images.open(EVERYONE[0], epoch=5)
    assert images.cache(ONE) != EMPTY  # another controller, the same process
    images.open(EVERYONE[0], epoch=6)
    assert images.cache(ONE) == EMPTY


def test_listeners_hear_of_changes_and_requests_pass_through() -> None:
    recorder = RecordingBrokers()
    images = MetadataCaches(recorder)
    heard: list[int] = []
    images.listen(lambda: heard.append(len(images.cache(ONE).topics)))
    link = open_all(images)[ONE]
    link.send(update(ONE, {T0: entry(1)}), ignore)
    lead = LeaderAndIsr(ONE, 7, Sender(ONE, 1, 5), {}, {}, ())
    link.send(lead, ignore)
    assert heard == [1]
    assert recorder.sent[-1] is lead
    link.close()
    link.send(update(ONE, {U0: entry(1)}), ignore)
    assert len(recorder.sent) == 2
