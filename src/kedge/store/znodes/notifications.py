"""Encodes and decodes nodes that notify the controller or brokers of elections and changes."""

from __future__ import annotations

from collections.abc import Iterable

from kedge.errors import MalformedJson
from kedge.model import BrokerId, TopicPartition
from kedge.store.znodes.json_fields import JsonFields, dump, load
from kedge.store.znodes.paths import PREFERRED_ELECTION

LOG_DIR_FAILED = 1


def encode_partitions(partitions: Iterable[TopicPartition]) -> bytes:
    """Encode the list of partitions of a preferred election or an ISR change."""
    listed = [{"topic": tp.topic, "partition": tp.partition} for tp in partitions]
    return dump({"version": 1, "partitions": listed})


def decode_partitions(data: bytes | None, path: str) -> tuple[TopicPartition, ...]:
    """Decode such a list; in the sequence written, each partition once."""
    fields = load(data, path)
    return tuple(dict.fromkeys(map(_partition, fields.objects("partitions"))))


def decode_preferred_election(data: bytes | None) -> tuple[TopicPartition, ...]:
    """Decode `/admin/preferred_replica_election`."""
    return decode_partitions(data, PREFERRED_ELECTION)


def _partition(fields: JsonFields) -> TopicPartition:
    return TopicPartition(fields.text("topic"), fields.integer("partition"))


def encode_log_dir_event(broker: BrokerId) -> bytes:
    """Encode a broker's notification of a failed log directory."""
    return dump({"version": 1, "broker": broker, "event": LOG_DIR_FAILED})


def decode_log_dir_event(data: bytes | None, path: str) -> BrokerId:
    """Return the broker that has a failed log directory."""
    return BrokerId(load(data, path).integer("broker"))


# ---- configs ----


def encode_config_change(entity: str) -> bytes:
    """Encode a notification of a config change; `entity` as in `topics/T`."""
    return dump({"version": 2, "entity_path": entity})


def decode_config_change(data: bytes | None, path: str) -> str:
    """Return the entity of such a notification, of either version."""
    fields = load(data, path)
    if fields.version(newest=2) == 2:
        return fields.text("entity_path")
    kind, name = fields.text("entity_type"), fields.text("entity_name")
    if kind not in ("topics", "clients"):
        raise MalformedJson(f"a change of {kind!r} is not known in version 1", place=path)
    return f"{kind}/{name}"
