"""Parses what a cluster says of itself: brokers and instances, and leaders over time.

Metadata is a JSON object with `cluster`, `brokers` (`id`, and optionally `rack`, `host`, `listener`
or `listeners`, `disk_capacity_bytes`) and optionally `instance_to_broker`; other keys are not read.
Leaders over time are a JSON list, one entry for each change of the metadata:

    [{"ts": 1794850920.4, "topics": {"orders": {"0": [1, [1, 2, 3], [1, 2]]}}}, …]

with leader, replicas and ISR of each partition; `ts` is in seconds, and no leader is -1 or null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from kedge.errors import MalformedInput
from kedge.metrics.measurement import NONE
from kedge.model.java_text import INT32_MAX
from kedge.model.json_path import JsonPath, parse_document

SECONDS_MAX: Final = 1e11  # the year 5138; a later time is in milliseconds


@dataclass(frozen=True, slots=True)
class BrokerMetadata:
    """One broker; `hosts` are those of its listeners."""

    id: int
    rack: str | None = None
    hosts: tuple[str, ...] = ()
    disk_capacity_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """The brokers of a cluster, and the broker of each instance that is scraped."""

    cluster: str
    brokers: tuple[BrokerMetadata, ...]
    instance_to_broker: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def ids(self) -> frozenset[int]:
        """The ids of the brokers."""
        return frozenset(broker.id for broker in self.brokers)


@dataclass(frozen=True, slots=True)
class PartitionState:
    """Leader (`NONE` without one), replicas and ISR of a partition."""

    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MetadataChange:
    """The state of all partitions from a moment on: topic, then partition.

    `observed`: it was read at that moment, and may have changed long before.
    """

    ts_ms: int
    topics: Mapping[str, Mapping[int, PartitionState]]
    observed: bool = False


LeaderHistory = tuple[MetadataChange, ...]


def parse_metadata(data: bytes) -> ClusterMetadata:
    """Parse the metadata of a cluster."""
    document = parse_document(data)
    name = document.field("cluster")
    if not name.text():
        raise name.malformed("empty")
    listed = document.field("brokers")
    brokers = tuple(_broker(each) for each in listed.items())
    ids = [broker.id for broker in brokers]
    if not ids or len(set(ids)) != len(ids):
        raise listed.malformed("a broker is listed twice" if ids else "no brokers")
    return ClusterMetadata(name.text(), brokers, _instances(document, frozenset(ids)))


def _instances(document: JsonPath, ids: frozenset[int]) -> dict[str, int]:
    found = document.optional("instance_to_broker")
    if found is None:
        return {}
    instances = {name: found.field(name) for name in found.object()}
    for broker in instances.values():
        if _id(broker) not in ids:
            raise broker.malformed(f"broker {broker.value} is not in brokers")
    return {name: broker.int32() for name, broker in instances.items()}


def _broker(found: JsonPath) -> BrokerMetadata:
    rack, disk = found.optional("rack"), found.optional("disk_capacity_bytes")
    if disk is not None and disk.integer() < 1:
        raise disk.malformed("not a number of bytes")
    return BrokerMetadata(
        _id(found.field("id")),
        rack.text() if rack else None,
        tuple(dict.fromkeys(map(host_of, _addresses(found)))),
        disk.integer() if disk else None,
    )


def _addresses(found: JsonPath) -> list[str]:
    single = [found.optional("host"), found.optional("listener")]
    listed = found.optional("listeners")
    texts = [each.text() for each in single if each is not None]
    if listed is not None and isinstance(listed.value, str):
        texts += listed.text().split(",")
    elif listed is not None:
        texts += [each.text() for each in listed.items()]
    return [text for text in texts if text]


def host_of(address: str) -> str:
    """The host of `host`, `host:port`, `[::1]:port` or `NAME://host:port`, in lower case."""
    bare = address.strip().rpartition("://")[2]
    if bare.startswith("["):
        return bare[1:].partition("]")[0].lower()
    host, colon, port = bare.rpartition(":")
    return (host if colon and port.isdecimal() and ":" not in host else bare).lower()


def parse_leaders(data: bytes) -> LeaderHistory:
    """Parse leaders over time; entries in which no partition changed are dropped."""
    try:
        found: Any = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise MalformedInput(f"cannot be parsed as JSON ({error})") from error
    changes = sorted(map(_change, JsonPath(found).items()), key=lambda change: change.ts_ms)
    kept: list[MetadataChange] = []
    for change in changes:
        if not kept or kept[-1].topics != change.topics:
            kept.append(change)
    return tuple(kept)


def _change(entry: JsonPath) -> MetadataChange:
    ts = entry.field("ts")
    if not 0 <= ts.number() < SECONDS_MAX:
        raise ts.malformed("not a time in seconds")
    found = entry.field("topics")
    topics = {name: _partitions(found.field(name)) for name in found.object()}
    return MetadataChange(round(ts.number() * 1000), topics)


def _partitions(found: JsonPath) -> dict[int, PartitionState]:
    states: dict[int, PartitionState] = {}
    for name in found.object():
        partition = int(name) if name.isdecimal() else -1
        if not 0 <= partition <= INT32_MAX:
            raise found.malformed(f"{name[:50]!r} is not a partition")
        states[partition] = _state(found.field(name))
    return states


def _state(found: JsonPath) -> PartitionState:
    parts = list(found.items())
    if len(parts) != 3:
        raise found.malformed("not [leader, replicas, isr]")
    leader, replicas, isr = parts
    led_by = NONE if leader.value in (None, -1) else _id(leader)
    return PartitionState(led_by, tuple(map(_id, replicas.items())), tuple(map(_id, isr.items())))


def _id(found: JsonPath) -> int:
    if found.int32() < 0:
        raise found.malformed("not an id")
    return found.int32()
