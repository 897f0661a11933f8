"""Replay: an image and the next records make the next image.

A record that contradicts the image is refused with InvariantViolated: the log is damaged or its
writer is wrong, and a real node would stop too. Within one call every touched part of the image is
copied once, so a batch of ten thousand partition changes costs about as many dictionary writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from kedge.errors import InvariantViolated
from kedge.metadata import records as r
from kedge.metadata.draft import Draft, merged, partition_of
from kedge.metadata.ids import in_id_order
from kedge.metadata.image import BrokerRegistration, Image


def replay(image: Image, record: r.MetadataRecord, offset: int = -1) -> Image:
    """The image after one more record."""
    return replay_all(image, (record,), offset)


def replay_all(image: Image, records: Iterable[r.MetadataRecord], offset: int = -1) -> Image:
    """The image after more records, the first of which is at this offset of the log."""
    draft = Draft(image)
    for at, record in enumerate(records):
        if isinstance(record, r.BeginTransactionRecord):
            draft = Draft(_begun(draft.finish()))
        elif isinstance(record, r.EndTransactionRecord | r.AbortTransactionRecord):
            draft = Draft(_ended(draft.finish(), record))
        else:
            _REPLAY[type(record)](draft, record, offset + at)
    return draft.finish()


def _begun(image: Image) -> Image:
    if image.before_transaction is not None:
        raise InvariantViolated("a transaction begins within another one")
    return replace(image, before_transaction=image)


def _ended(image: Image, record: r.EndTransactionRecord | r.AbortTransactionRecord) -> Image:
    before = image.before_transaction
    if before is None:
        raise InvariantViolated("a transaction ends that has not begun")
    return (
        before
        if isinstance(record, r.AbortTransactionRecord)
        else replace(image, before_transaction=None)
    )


# ---- brokers and controllers ---------------------------------------------------------------------


def _register_broker(draft: Draft, record: r.RegisterBrokerRecord, offset: int) -> None:
    draft.brokers[record.broker_id] = BrokerRegistration(
        id=record.broker_id,
        epoch=record.broker_epoch,
        incarnation=record.incarnation_id,
        endpoints=record.end_points,
        features=record.features,
        rack=record.rack,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        directories=in_id_order(record.log_dirs),
        is_migrating=record.is_migrating_zk_broker,
        offset=offset,
    )


def _registration(draft: Draft, broker: int, epoch: int) -> BrokerRegistration:
    found = draft.brokers.get(broker)
    if found is None or found.epoch != epoch:
        raise InvariantViolated(f"no broker {broker} with epoch {epoch} is registered")
    return found


def _unregister_broker(draft: Draft, record: r.UnregisterBrokerRecord, _: int) -> None:
    del draft.brokers[_registration(draft, record.broker_id, record.broker_epoch).id]


def _fence(draft: Draft, record: r.FenceBrokerRecord, _: int) -> None:
    found = _registration(draft, record.id, record.epoch)
    draft.brokers[found.id] = replace(found, fenced=True)


def _unfence(draft: Draft, record: r.UnfenceBrokerRecord, _: int) -> None:
    found = _registration(draft, record.id, record.epoch)
    draft.brokers[found.id] = replace(found, fenced=False)


def _registration_change(draft: Draft, record: r.BrokerRegistrationChangeRecord, _: int) -> None:
    found = _registration(draft, record.broker_id, record.broker_epoch)
    draft.brokers[found.id] = replace(
        found,
        fenced=record.fenced > 0 if record.fenced else found.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown > 0 or found.in_controlled_shutdown,
        directories=in_id_order(record.log_dirs) if record.log_dirs else found.directories,
    )


def _register_controller(draft: Draft, record: r.RegisterControllerRecord, _: int) -> None:
    draft.controllers[record.controller_id] = record


# ---- topics --------------------------------------------------------------------------------------


def _topic(draft: Draft, record: r.TopicRecord, _: int) -> None:
    draft.add_topic(record.topic_id, record.name)


def _partition(draft: Draft, record: r.PartitionRecord, _: int) -> None:
    key = (record.topic_id, record.partition_id)
    draft.put_partition(key, draft.partition(key), partition_of(record))


def _partition_change(draft: Draft, record: r.PartitionChangeRecord, _: int) -> None:
    key = (record.topic_id, record.partition_id)
    before = draft.partition(key)
    if before is None:
        raise InvariantViolated(f"no partition {record.partition_id} of topic {record.topic_id}")
    draft.put_partition(key, before, merged(before, record))


def _remove_topic(draft: Draft, record: r.RemoveTopicRecord, _: int) -> None:
    draft.remove_topic(record.topic_id)


def _clear_elr(draft: Draft, record: r.ClearElrRecord, _: int) -> None:
    if not record.topic_name:
        names: Iterable[str] = draft.topic_names()
    elif draft.knows_topic(record.topic_name):
        names = (record.topic_name,)
    else:
        raise InvariantViolated(f"no topic {record.topic_name}")
    for name in names:
        draft.clear_elr(name)


def _config(draft: Draft, record: r.ConfigRecord, _: int) -> None:
    resource = (record.resource_type, record.resource_name)
    configs = dict(draft.configs.get(resource) or {})
    if record.value is None:
        configs.pop(record.name, None)
    else:
        configs[record.name] = record.value
    if configs:
        draft.configs[resource] = configs
    else:
        draft.configs.discard(resource)


# ---- the rest ------------------------------------------------------------------------------------


def _feature_level(draft: Draft, record: r.FeatureLevelRecord, _: int) -> None:
    if record.name == "kraft.version":
        return  # belongs to the quorum, whose control records say it
    if record.feature_level:
        draft.features[record.name] = record.feature_level
    else:
        draft.features.pop(record.name, None)


def _quota(draft: Draft, record: r.ClientQuotaRecord, _: int) -> None:
    entity = tuple(sorted(((p.entity_type, p.entity_name) for p in record.entity), key=_part_order))
    quotas = dict(draft.quotas.get(entity, {}))
    if record.remove:
        quotas.pop(record.key, None)
    else:
        quotas[record.key] = record.value
    draft.quotas.pop(entity, None)
    if quotas:
        draft.quotas[entity] = quotas


def _part_order(part: tuple[str, str | None]) -> str:
    return part[0]


def _producer_ids(draft: Draft, record: r.ProducerIdsRecord, _: int) -> None:
    if draft.next_producer_id is not None and record.next_producer_id <= draft.next_producer_id:
        raise InvariantViolated(f"producer ids go back to {record.next_producer_id}")
    draft.next_producer_id = record.next_producer_id


def _acl(draft: Draft, record: r.AccessControlEntryRecord, _: int) -> None:
    draft.acls[record.id] = record


def _remove_acl(draft: Draft, record: r.RemoveAccessControlEntryRecord, _: int) -> None:
    if draft.acls.pop(record.id, None) is None:
        raise InvariantViolated(f"no ACL has the id {record.id}")


def _scram(draft: Draft, record: r.UserScramCredentialRecord, _: int) -> None:
    draft.scram[record.name, record.mechanism] = record


def _remove_scram(draft: Draft, record: r.RemoveUserScramCredentialRecord, _: int) -> None:
    if draft.scram.pop((record.name, record.mechanism), None) is None:
        raise InvariantViolated(f"user {record.name} has no such credential")


def _token(draft: Draft, record: r.DelegationTokenRecord, _: int) -> None:
    draft.tokens[record.token_id] = record


def _remove_token(draft: Draft, record: r.RemoveDelegationTokenRecord, _: int) -> None:
    draft.tokens.pop(record.token_id, None)


def _nothing(draft: Draft, record: r.MetadataRecord, _: int) -> None:
    pass


_REPLAY: Mapping[type, Callable[[Draft, Any, int], None]] = {
    r.RegisterBrokerRecord: _register_broker,
    r.UnregisterBrokerRecord: _unregister_broker,
    r.FenceBrokerRecord: _fence,
    r.UnfenceBrokerRecord: _unfence,
    r.BrokerRegistrationChangeRecord: _registration_change,
    r.RegisterControllerRecord: _register_controller,
    r.TopicRecord: _topic,
    r.PartitionRecord: _partition,
    r.PartitionChangeRecord: _partition_change,
    r.RemoveTopicRecord: _remove_topic,
    r.ClearElrRecord: _clear_elr,
    r.ConfigRecord: _config,
    r.FeatureLevelRecord: _feature_level,
    r.ClientQuotaRecord: _quota,
    r.ProducerIdsRecord: _producer_ids,
    r.AccessControlEntryRecord: _acl,
    r.RemoveAccessControlEntryRecord: _remove_acl,
    r.UserScramCredentialRecord: _scram,
    r.RemoveUserScramCredentialRecord: _remove_scram,
    r.DelegationTokenRecord: _token,
    r.RemoveDelegationTokenRecord: _remove_token,
    r.NoOpRecord: _nothing,
    r.ZkMigrationStateRecord: _nothing,
}
