"""The metadata cache of each broker: the part of the cluster that the controller has sent to it.

Kafka's brokers answer questions about topics from what UpdateMetadata brought them, never from the
store. So does the endpoint: `MetadataCaches` is a `Brokers` port around another one, and records
what each broker has accepted.

A cache is an immutable value; a new one replaces it in one step, so any thread may read it. Brokers
that were sent the same share one cache: two hundred thousand partitions are stored once, however
many brokers have them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from kedge.brokers.port import Answered, BrokerLink, Brokers
from kedge.model import NO_LEADER, Broker, BrokerId, TopicPartition, by_topic
from kedge.model.broker_requests import (
    DELETED_LEADER,
    BrokerAnswer,
    BrokerRequest,
    MetadataEntry,
    UpdateMetadata,
)
from kedge.model.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class CachedTopic:
    """A topic in a broker's cache."""

    name: str
    topic_id: str | None
    partitions: Mapping[int, MetadataEntry]

    def has_leader(self, partition: int) -> bool:
        """Whether the partition has a leader."""
        entry = self.partitions.get(partition)
        return entry is not None and entry.leadership.leader != NO_LEADER


@dataclass(frozen=True, slots=True)
class MetadataCache:
    """The cluster as a broker knows it; empty before the controller's first request."""

    controller: BrokerId | None = None
    brokers: Mapping[BrokerId, Broker] = field(default_factory=dict[BrokerId, Broker])
    topics: Mapping[str, CachedTopic] = field(default_factory=dict[str, CachedTopic])
    names_by_id: Mapping[str, str] = field(default_factory=dict[str, str])
    partition_count: int = 0

    def entry(self, tp: TopicPartition) -> MetadataEntry | None:
        """One partition, if it is known."""
        topic = self.topics.get(tp.topic)
        return None if topic is None else topic.partitions.get(tp.partition)

    def after(self, request: UpdateMetadata) -> MetadataCache:
        """The cache once a broker has accepted this request."""
        topics, names = dict(self.topics), dict(self.names_by_id)
        count = self.partition_count
        for name, changes in by_topic(request.partitions).items():
            before = topics.pop(name, None)
            if before is not None and before.topic_id is not None:
                names.pop(before.topic_id, None)
            known: Mapping[int, MetadataEntry] = before.partitions if before else {}
            partitions = _changed(known, changes)
            count += len(partitions) - len(known)
            if partitions:
                topic_id = request.topic_ids.get(name)
                topics[name] = CachedTopic(name, topic_id, partitions)
                if topic_id is not None:
                    names[topic_id] = name
        brokers = {broker.id: broker for broker in request.live_brokers}
        return MetadataCache(request.sender.controller, brokers, topics, names, count)


EMPTY = MetadataCache()


def _changed(
    before: Mapping[int, MetadataEntry], changes: Mapping[int, MetadataEntry]
) -> dict[int, MetadataEntry]:
    after = {**before, **changes}
    gone = [p for p, entry in changes.items() if entry.leadership.leader == DELETED_LEADER]
    for partition in gone:
        del after[partition]
    return after


class _Update(NamedTuple):
    """The last update, for other brokers to share its result. It refers to the cache that it was
    made from, so that no other object can get the same identity."""

    before: MetadataCache
    request: UpdateMetadata
    after: MetadataCache


class MetadataCaches:
    """The caches of all brokers, and the port that fills them."""

    def __init__(self, brokers: Brokers | None = None) -> None:
        self._brokers = brokers  # None where each controller has its own port (`wrap`)
        self._caches: dict[BrokerId, MetadataCache] = {}
        self._epochs: dict[BrokerId, int] = {}
        self._last: _Update | None = None
        self._lock = Lock()  # two controllers may send at once, while one takes over
        self._listeners: list[Callable[[], None]] = []

    def cache(self, broker: BrokerId) -> MetadataCache:
        """A broker's cache as it is now."""
        return self._caches.get(broker, EMPTY)

    def listen(self, listener: Callable[[], None]) -> None:
        """Call a function after every update, on the thread that made it; it must not block."""
        self._listeners.append(listener)

    def open(self, broker: Broker, *, epoch: int) -> BrokerLink:
        """A link to a broker, whose accepted updates are recorded."""
        assert self._brokers is not None, "these caches have no port of their own"
        return self.record(self._brokers.open(broker, epoch=epoch), broker, epoch)

    def wrap(self, brokers: Brokers) -> Brokers:
        """Another port that fills the same caches: each controller of a cluster has its own."""
        return _RecordedBrokers(self, brokers)

    def record(self, link: BrokerLink, broker: Broker, epoch: int) -> BrokerLink:
        """A link whose accepted updates are recorded. A broker that has restarted has an empty
        cache."""
        if self._epochs.get(broker.id) != epoch:
            self._epochs[broker.id] = epoch
            self._caches[broker.id] = EMPTY
        return _RecordedLink(self, link)

    def forget(self, broker: BrokerId) -> None:
        """Begin a broker's cache anew: it has restarted."""
        self._caches[broker] = EMPTY

    def accepted(self, request: UpdateMetadata) -> None:
        """Record that a broker has accepted an update."""
        with self._lock:
            before, last = self.cache(request.to), self._last
            if last is not None and last.before is before and _same_content(last.request, request):
                after = last.after
            else:
                after = before.after(request)
                self._last = _Update(before, request, after)
            self._caches[request.to] = after
        for listener in self._listeners:
            listener()


def _same_content(one: UpdateMetadata, other: UpdateMetadata) -> bool:
    """Whether two requests to different brokers have the same content."""
    return one.partitions is other.partitions and one.live_brokers is other.live_brokers


class _RecordedBrokers:
    """One of several ports that fill the same caches."""

    def __init__(self, caches: MetadataCaches, brokers: Brokers) -> None:
        self._caches = caches
        self._brokers = brokers

    def open(self, broker: Broker, *, epoch: int) -> BrokerLink:
        """A link to a broker, whose accepted updates are recorded."""
        return self._caches.record(self._brokers.open(broker, epoch=epoch), broker, epoch)


class _RecordedLink:
    """A link that records accepted updates."""

    def __init__(self, caches: MetadataCaches, link: BrokerLink) -> None:
        self._caches = caches
        self._link = link

    def send(self, request: BrokerRequest, answered: Answered) -> None:
        """Send a request."""

        def record(answer: BrokerAnswer) -> None:
            if isinstance(request, UpdateMetadata) and answer.error is ErrorCode.NONE:
                self._caches.accepted(request)
            answered(answer)

        self._link.send(request, record)

    def close(self) -> None:
        """Close the link."""
        self._link.close()
