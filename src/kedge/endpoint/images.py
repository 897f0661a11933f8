"""What each broker believes of the cluster: its metadata cache, as the controller filled it.

Kafka's brokers answer questions about topics from what UpdateMetadata told them, never from the
store. So does the endpoint: `Images` stands between the controller and its brokers (it is a
`Brokers` port around another), and takes down what each broker has accepted.

An image is a value and is never changed; a new one takes its place in one step, so any thread may
read. Brokers that are told the same share one image: two hundred thousand partitions are kept
once, however many brokers know them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from kedge.brokers.port import Answered, BrokerLink, Brokers
from kedge.model import NO_LEADER, Broker, BrokerId, TopicPartition
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
    """A topic as a broker knows it."""

    name: str
    topic_id: str | None
    partitions: Mapping[int, MetadataEntry]

    def has_leader(self, partition: int) -> bool:
        """Whether somebody leads the partition."""
        entry = self.partitions.get(partition)
        return entry is not None and entry.leadership.leader != NO_LEADER


@dataclass(frozen=True, slots=True)
class Image:
    """The cluster as a broker knows it; nothing at all before the controller has spoken."""

    controller: BrokerId | None = None
    brokers: Mapping[BrokerId, Broker] = field(default_factory=dict[BrokerId, Broker])
    topics: Mapping[str, CachedTopic] = field(default_factory=dict[str, CachedTopic])
    names_by_id: Mapping[str, str] = field(default_factory=dict[str, str])
    partition_count: int = 0

    def entry(self, tp: TopicPartition) -> MetadataEntry | None:
        """One partition."""
        topic = self.topics.get(tp.topic)
        return None if topic is None else topic.partitions.get(tp.partition)

    def after(self, request: UpdateMetadata) -> Image:
        """The image once a broker has taken this request."""
        topics, names = dict(self.topics), dict(self.names_by_id)
        count = self.partition_count
        for name, changes in _by_topic(request.partitions).items():
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
        return Image(request.sender.controller, brokers, topics, names, count)


NOTHING = Image()


def _by_topic(
    partitions: Mapping[TopicPartition, MetadataEntry],
) -> dict[str, dict[int, MetadataEntry]]:
    found: dict[str, dict[int, MetadataEntry]] = {}
    for tp, entry in partitions.items():
        found.setdefault(tp.topic, {})[tp.partition] = entry
    return found


def _changed(
    before: Mapping[int, MetadataEntry], changes: Mapping[int, MetadataEntry]
) -> dict[int, MetadataEntry]:
    after = {**before, **changes}
    gone = [p for p, entry in changes.items() if entry.leadership.leader == DELETED_LEADER]
    for partition in gone:
        del after[partition]
    return after


class _Step(NamedTuple):
    """A change that one broker has made, for the next to share. Holds what it was made from, so
    that nothing else can take its place in memory."""

    before: Image
    request: UpdateMetadata
    after: Image


class Images:
    """The images of all brokers, and the port that keeps them."""

    def __init__(self, brokers: Brokers | None = None) -> None:
        self._brokers = brokers  # none where each controller brings its own (`around`)
        self._images: dict[BrokerId, Image] = {}
        self._epochs: dict[BrokerId, int] = {}
        self._last: _Step | None = None
        self._lock = Lock()  # two controllers may speak at once, when one takes over
        self._listeners: list[Callable[[], None]] = []

    def image(self, broker: BrokerId) -> Image:
        """What a broker believes now."""
        return self._images.get(broker, NOTHING)

    def listen(self, listener: Callable[[], None]) -> None:
        """Call this after every change, on whatever thread made it: it must only wake somebody."""
        self._listeners.append(listener)

    def open(self, broker: Broker, *, epoch: int) -> BrokerLink:
        """A link through which all is passed on."""
        assert self._brokers is not None, "these images are only for going around"
        return self.watch(self._brokers.open(broker, epoch=epoch), broker, epoch)

    def around(self, brokers: Brokers) -> Brokers:
        """The same images around another port: each controller of a cluster has its own way."""
        return _Around(self, brokers)

    def watch(self, link: BrokerLink, broker: Broker, epoch: int) -> BrokerLink:
        """A link through which all is passed on. A broker that has begun anew knows nothing."""
        if self._epochs.get(broker.id) != epoch:
            self._epochs[broker.id] = epoch
            self._images[broker.id] = NOTHING
        return _WatchedLink(self, link)

    def accepted(self, request: UpdateMetadata) -> None:
        """A broker has taken what it was told."""
        with self._lock:
            before, last = self.image(request.to), self._last
            if last is not None and last.before is before and _same_content(last.request, request):
                after = last.after
            else:
                after = before.after(request)
                self._last = _Step(before, request, after)
            self._images[request.to] = after
        for listener in self._listeners:
            listener()


def _same_content(one: UpdateMetadata, other: UpdateMetadata) -> bool:
    """Whether two requests of one sending say the same to different brokers."""
    return one.partitions is other.partitions and one.live_brokers is other.live_brokers


class _Around:
    """One of several ports whose brokers share the images."""

    def __init__(self, images: Images, brokers: Brokers) -> None:
        self._images = images
        self._brokers = brokers

    def open(self, broker: Broker, *, epoch: int) -> BrokerLink:
        """A link through which all is passed on."""
        return self._images.watch(self._brokers.open(broker, epoch=epoch), broker, epoch)


class _WatchedLink:
    """A link that takes down what was accepted."""

    def __init__(self, images: Images, link: BrokerLink) -> None:
        self._images = images
        self._link = link

    def send(self, request: BrokerRequest, answered: Answered) -> None:
        """Pass a request on."""

        def taken(answer: BrokerAnswer) -> None:
            if isinstance(request, UpdateMetadata) and answer.error is ErrorCode.NONE:
                self._images.accepted(request)
            answered(answer)

        self._link.send(request, taken)

    def close(self) -> None:
        """Give the broker up."""
        self._link.close()
