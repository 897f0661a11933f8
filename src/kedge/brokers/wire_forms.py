"""Between the controller's requests and Kafka's messages: what is said to a broker, and heard.

A controller that is no broker must still be found: brokers and clients look it up among the live
brokers of UpdateMetadata. So it is added there, under the listeners that it can serve, and
nowhere else: the controller's own tables never know it, and nothing is ever placed on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kedge.model import Broker, BrokerId, TopicPartition, by_topic
from kedge.model.broker_requests import (
    BrokerAnswer,
    BrokerRequest,
    LeaderAndIsr,
    LeaderAndIsrEntry,
    MetadataEntry,
    StopReplica,
    UpdateMetadata,
)
from kedge.model.error_codes import ErrorCode
from kedge.protocol import broker_messages as m
from kedge.protocol.broker_apis import (
    LEADER_AND_ISR,
    STOP_REPLICA,
    UPDATE_METADATA,
    BrokerApi,
    encode_part,
)

PLAINTEXT = "PLAINTEXT"
PROTOCOLS = {PLAINTEXT: 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
_INCREMENTAL = 1  # LeaderAndIsr lists some of the broker's partitions, not all that there are


class Address(NamedTuple):
    """The host and port of a listener."""

    host: str
    port: int


def address_of(broker: Broker, listener: str | None) -> Address | None:
    """Where a broker takes the controller's requests: at a listener, or at its first plain one."""
    for endpoint in broker.endpoints:
        named = endpoint.listener == listener
        if named or (listener is None and endpoint.protocol == PLAINTEXT):
            return Address(endpoint.host, endpoint.port)
    return None


class Translator:
    """Writes requests for one controller, which may be listed as a node of its own."""

    def __init__(
        self,
        *,
        node: BrokerId | None = None,
        at: Address | None = None,
        listener: str | None = None,
    ) -> None:
        self._node = node
        self.at = at
        self._listener = listener
        self._content: tuple[UpdateMetadata, bytes] | None = None
        self._entries: dict[tuple[int, int, int], tuple[LeaderAndIsrEntry, bytes]] = {}

    def frame(self, request: BrokerRequest, correlation: int) -> bytes:
        """A request as bytes."""
        api, message = self._message(request)
        client = str(request.sender.controller)
        return api.encode_request(request.version, message, correlation=correlation, client=client)

    def _message(self, request: BrokerRequest) -> tuple[BrokerApi, Any]:
        sender = request.sender
        who = (sender.controller, sender.controller_epoch, sender.broker_epoch)
        match request:
            case LeaderAndIsr():
                leaders = self._live_leaders(request)
                topics = self._led_topics(request)
                message = m.LeaderAndIsrRequest(*who, topics, leaders, type=_INCREMENTAL)
                return LEADER_AND_ISR, message
            case UpdateMetadata():
                return UPDATE_METADATA, m.UpdateMetadataRequest(*who, self._shared_content(request))
            case StopReplica(partitions=partitions):
                stopped = tuple(
                    m.StopReplicaTopic(
                        topic, tuple(m.StopReplicaPartition(p, *e) for p, e in entries.items())
                    )
                    for topic, entries in by_topic(partitions).items()
                )
                return STOP_REPLICA, m.StopReplicaRequest(*who, stopped)

    # ---- LeaderAndIsr -------------------------------------------------------------------------

    def _led_topics(self, request: LeaderAndIsr) -> tuple[m.LeaderAndIsrTopic, ...]:
        """The topics; a partition's entry is encoded once for all brokers that get it."""
        version, before = request.version, self._entries
        after: dict[tuple[int, int, int], tuple[LeaderAndIsrEntry, bytes]] = {}
        topics: list[m.LeaderAndIsrTopic] = []
        for topic, entries in by_topic(request.partitions).items():
            written: list[bytes] = []
            for partition, entry in entries.items():
                key = (id(entry), partition, version)
                known = before.get(key)
                if known is None or known[0] is not entry:
                    part = encode_part(m.LEADER_AND_ISR_PARTITION, version, _led(partition, entry))
                    known = (entry, part)
                after[key] = known
                written.append(known[1])
            topics.append(m.LeaderAndIsrTopic(topic, tuple(written), request.topic_ids.get(topic)))
        before.update(after)
        if len(before) > 4 * len(after) + 1000:
            self._entries = after  # drops the entries that recent requests did not use
        return tuple(topics)

    def _live_leaders(self, request: LeaderAndIsr) -> tuple[m.LiveLeader, ...]:
        found = ((b.id, address_of(b, self._listener)) for b in request.live_leaders)
        return tuple(m.LiveLeader(b, at.host, at.port) for b, at in found if at is not None)

    # ---- UpdateMetadata -----------------------------------------------------------------------

    def _shared_content(self, request: UpdateMetadata) -> bytes:
        """Brokers that get the same content share its bytes."""
        if self._content is not None and _same_content(self._content[0], request):
            return self._content[1]
        topics = tuple(
            m.MetadataTopic(
                topic, tuple(_known(p, e) for p, e in entries.items()), request.topic_ids.get(topic)
            )
            for topic, entries in by_topic(request.partitions).items()
        )
        content = m.MetadataContent(topics, self._live(request.live_brokers))
        written = encode_part(m.METADATA_CONTENT, request.version, content)
        self._content = (request, written)
        return written

    def _live(self, brokers: Sequence[Broker]) -> tuple[m.LiveBroker, ...]:
        listed = [
            m.LiveBroker(
                broker.id,
                tuple(
                    m.BrokerEndpoint(e.port, e.host, e.listener, PROTOCOLS.get(e.protocol, 0))
                    for e in broker.endpoints
                ),
                broker.rack,
            )
            for broker in brokers
        ]
        return (*listed, *self._myself(brokers))

    def _myself(self, brokers: Sequence[Broker]) -> tuple[m.LiveBroker, ...]:
        """The controller as a node, under the names of all plain listeners: brokers complain of
        nodes whose listeners are not those of the others."""
        if self._node is None or self.at is None:
            return ()
        plain = {e.listener for b in brokers for e in b.endpoints if e.protocol == PLAINTEXT}
        host, port = self.at
        endpoints = tuple(m.BrokerEndpoint(port, host, name, 0) for name in sorted(plain))
        return (m.LiveBroker(self._node, endpoints),) if endpoints else ()


def _same_content(one: UpdateMetadata, other: UpdateMetadata) -> bool:
    return (
        one.partitions is other.partitions
        and one.live_brokers is other.live_brokers
        and one.version == other.version
    )


def _led(partition: int, entry: LeaderAndIsrEntry) -> m.LeaderAndIsrPartition:
    now, assignment = entry.leadership, entry.assignment
    return m.LeaderAndIsrPartition(
        partition,
        now.controller_epoch,
        now.leader,
        now.leader_epoch,
        now.isr,
        now.partition_epoch,
        assignment.replicas,
        assignment.adding,
        assignment.removing,
        entry.is_new,
        now.recovery.value,
    )


def _known(partition: int, entry: MetadataEntry) -> m.MetadataPartition:
    now = entry.leadership
    return m.MetadataPartition(
        partition,
        now.controller_epoch,
        now.leader,
        now.leader_epoch,
        now.isr,
        now.partition_epoch,
        entry.replicas,
        entry.offline,
    )


# ---- answers -------------------------------------------------------------------------------------


def heard(request: BrokerRequest, payload: bytes) -> tuple[int, BrokerAnswer]:
    """The correlation and the answer that a broker sent."""
    match request:
        case LeaderAndIsr(version=version):
            correlation, lead = LEADER_AND_ISR.decode_response(version, payload)
            return correlation, BrokerAnswer(code(lead.error), _lead_errors(request, lead))
        case UpdateMetadata(version=version):
            correlation, update = UPDATE_METADATA.decode_response(version, payload)
            return correlation, BrokerAnswer(code(update.error))
        case StopReplica(version=version):
            correlation, stop = STOP_REPLICA.decode_response(version, payload)
            errors = {TopicPartition(e.topic, e.partition): code(e.error) for e in stop.partitions}
            return correlation, BrokerAnswer(code(stop.error), errors)


def _lead_errors(
    request: LeaderAndIsr, response: m.LeaderAndIsrResponse
) -> dict[TopicPartition, ErrorCode]:
    """By partition; newer versions name topics by ids, of which only we know the names."""
    found = {TopicPartition(e.topic, e.partition): code(e.error) for e in response.partitions}
    if response.topics:
        names = {topic_id: topic for topic, topic_id in request.topic_ids.items()}
        for topic in response.topics:
            name = names.get(topic.topic_id or "")
            if name is not None:
                for e in topic.partitions:
                    found[TopicPartition(name, e.partition)] = code(e.error)
    return found


def code(number: int) -> ErrorCode:
    """An error's number as one that we know."""
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
