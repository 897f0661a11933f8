"""A snapshot: the records from which an image can be made again.

Sections are in Kafka's sequence: features, brokers and controllers, topics, configs, quotas,
producer ids, ACLs, SCRAM credentials, tokens. Replaying a snapshot gives the image that it was
taken of; offsets of registrations excepted, since the log before it is gone.
"""

from __future__ import annotations

from collections.abc import Iterator

from kedge.metadata import metadata_version
from kedge.metadata import records as r
from kedge.metadata.decision import ELR_FEATURE
from kedge.metadata.ids import Uuid
from kedge.metadata.image import BrokerRegistration, Image, Partition, Topic
from kedge.metadata.records import Versioned


def snapshot(image: Image) -> tuple[Versioned, ...]:
    """All records that make the image, in the versions of its metadata.version."""
    return tuple(_sections(image))


def _sections(image: Image) -> Iterator[Versioned]:
    level = image.features.get(metadata_version.FEATURE, metadata_version.MINIMUM)
    yield from _features(image)
    for _, broker in sorted(image.brokers.items()):
        yield _broker(broker, level)
    if metadata_version.has_controller_registration(level):
        for _, controller in sorted(image.controllers.items()):
            yield Versioned(controller)
    elr = image.features.get(ELR_FEATURE, 0) >= 1
    for name in sorted(image.topic_ids):
        yield from _topic(image.topics[image.topic_ids[name]], level, elr=elr)
    for kind, name in sorted(image.configs):
        for key, value in sorted(image.configs[kind, name].items()):
            yield Versioned(r.ConfigRecord(kind, name, key, value))
    yield from _quotas(image)
    if image.next_producer_id is not None:
        yield Versioned(r.ProducerIdsRecord(-1, -1, image.next_producer_id))
    for acl_id in sorted(image.acls):
        yield Versioned(image.acls[acl_id])
    if metadata_version.has_scram(level):
        for user in sorted(image.scram):
            yield Versioned(image.scram[user])
    if metadata_version.has_delegation_tokens(level):
        for token in sorted(image.tokens):
            yield Versioned(image.tokens[token])


def _features(image: Image) -> Iterator[Versioned]:
    first = metadata_version.FEATURE
    for name in sorted(image.features, key=lambda name: (name != first, name)):
        yield Versioned(r.FeatureLevelRecord(name, image.features[name]))


def _broker(broker: BrokerRegistration, level: int) -> Versioned:
    record = r.RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation,
        broker_epoch=broker.epoch,
        end_points=broker.endpoints,
        features=broker.features,
        rack=broker.rack,
        fenced=broker.fenced,
        is_migrating_zk_broker=broker.is_migrating,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=broker.directories if metadata_version.has_directories(level) else (),
    )
    return Versioned(record, metadata_version.register_broker_version(level))


def _topic(topic: Topic, level: int, *, elr: bool) -> Iterator[Versioned]:
    yield Versioned(r.TopicRecord(topic.name, topic.id))
    for number, partition in sorted(topic.partitions.items()):
        record = _partition(topic.id, number, partition, level, elr=elr)
        yield Versioned(record, metadata_version.partition_version(level))


def _partition(
    topic_id: Uuid, number: int, partition: Partition, level: int, *, elr: bool
) -> r.PartitionRecord:
    """A partition in full; what is left of ELRs after they were switched off is not written."""
    return r.PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=partition.replicas,
        isr=partition.isr,
        leader=partition.leader,
        removing_replicas=partition.removing,
        adding_replicas=partition.adding,
        leader_recovery_state=partition.recovery,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.epoch,
        directories=partition.directories if metadata_version.has_directories(level) else (),
        eligible_leader_replicas=partition.elr or None if elr else None,
        last_known_elr=partition.last_known_elr or None if elr else None,
    )


def _quotas(image: Image) -> Iterator[Versioned]:
    def order(entity: tuple[tuple[str, str | None], ...]) -> list[tuple[str, str]]:
        return [(kind, name or "") for kind, name in entity]

    for entity in sorted(image.quotas, key=order):
        parts = tuple(r.QuotaEntityPart(kind, name) for kind, name in entity)
        for key, value in sorted(image.quotas[entity].items()):
            yield Versioned(r.ClientQuotaRecord(parts, key, value, remove=False))
