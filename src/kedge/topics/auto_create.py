"""Automatic creation of topics: when it is allowed, and with which partitions and configs.

A Metadata request for an unknown topic creates it, if the brokers' settings and the client both
allow that. Kafka's internal topics are created when a client looks for a coordinator, whatever the
brokers' settings are, and they have configs of their own.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from kedge.errors import UnknownTopicOrPartition
from kedge.topics.create import CreateRequest
from kedge.topics.names import CONSUMER_OFFSETS, TRANSACTION_STATE, validate_name
from kedge.topics.view import ClusterView, Defaults


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """Settings of an internal topic (`offsets.topic.*`, `transaction.state.log.*`)."""

    partitions: int = 50
    replication_factor: int = 3
    segment_bytes: int = 104_857_600
    min_isr: int | None = None


@dataclass(frozen=True, slots=True)
class AutoCreate:
    """The brokers' settings: whether unknown topics are created, and the internal topics' own."""

    enabled: bool = True
    offsets: InternalTopic = InternalTopic()
    transactions: InternalTopic = field(default_factory=lambda: InternalTopic(min_isr=2))


def automatic_request(
    topic: str, settings: AutoCreate, defaults: Defaults | None = None
) -> CreateRequest:
    """The request that a broker makes for an unknown topic."""
    if topic == CONSUMER_OFFSETS:
        return _internal(topic, settings.offsets, compression="producer")
    if topic == TRANSACTION_STATE:
        return _internal(topic, settings.transactions, compression="uncompressed")
    counts = defaults or Defaults()
    return CreateRequest(topic, counts.partitions, counts.replication_factor)


def validate_auto_create(
    topic: str,
    view: ClusterView,
    settings: AutoCreate,
    *,
    client_allows: bool = True,
    all_topics: bool = False,
    for_coordinator: bool = False,
    in_flight: Collection[str] = (),
) -> CreateRequest | None:
    """The request to carry out, None for a topic that exists, or the client's error, raised.

    A metadata request needs the consent of both sides, and one for all topics creates none; a
    coordinator's own topic (`for_coordinator`) needs neither's. `in_flight` are topics that this
    broker is creating already.
    """
    if view.knows(topic):
        return None
    validate_name(topic)
    if not for_coordinator and (all_topics or not (settings.enabled and client_allows)):
        raise UnknownTopicOrPartition(
            f"Topic {topic!r} not found", hint="automatic creation of topics is off"
        )
    if topic in in_flight:
        raise UnknownTopicOrPartition(f"topic {topic} is being created", hint="try again")
    return automatic_request(topic, settings, view.defaults)


def _internal(topic: str, how: InternalTopic, *, compression: str) -> CreateRequest:
    configs: dict[str, str | None] = {
        "cleanup.policy": "compact",
        "compression.type": compression,
        "segment.bytes": str(how.segment_bytes),
    }
    if how.min_isr is not None:
        configs["min.insync.replicas"] = str(how.min_isr)
        configs["unclean.leader.election.enable"] = "false"
    return CreateRequest(topic, how.partitions, how.replication_factor, configs=configs)
