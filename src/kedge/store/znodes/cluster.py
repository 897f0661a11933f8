"""Encodes and decodes cluster-wide nodes: controller, epoch, cluster id, features, producer ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kedge.errors import MalformedNumber
from kedge.model import BrokerId
from kedge.store.znodes.json_fields import dump, load
from kedge.store.znodes.paths import (
    CLUSTER_ID,
    CONTROLLER,
    CONTROLLER_EPOCH,
    FEATURE,
    PRODUCER_ID_BLOCK,
)

NO_KRAFT_EPOCH = -1


@dataclass(frozen=True, slots=True)
class ControllerClaim:
    """The broker that is the controller, and since when (ms)."""

    broker: BrokerId
    timestamp_ms: int
    kraft_epoch: int = NO_KRAFT_EPOCH


def encode_controller(claim: ControllerClaim) -> bytes:
    """Encode `/controller`, in version 2."""
    return dump(
        {
            "version": 2,
            "brokerid": claim.broker,
            "timestamp": str(claim.timestamp_ms),
            "kraftControllerEpoch": claim.kraft_epoch,
        }
    )


def decode_controller(data: bytes | None) -> ControllerClaim:
    """Decode `/controller` of any version."""
    fields = load(data, CONTROLLER)
    broker = BrokerId(fields.integer("brokerid"))
    timestamp_ms = fields.integer_text("timestamp") if "timestamp" in fields else -1
    return ControllerClaim(
        broker, timestamp_ms, fields.integer("kraftControllerEpoch", NO_KRAFT_EPOCH)
    )


def encode_controller_epoch(epoch: int) -> bytes:
    """Encode `/controller_epoch`: decimal text, not JSON."""
    return b"%d" % epoch


def decode_controller_epoch(data: bytes | None) -> int:
    """Decode `/controller_epoch`."""
    text = data or b""
    if not text.isdigit():
        raise MalformedNumber(f"{text!r} is not an epoch", place=CONTROLLER_EPOCH)
    return int(text)


def encode_cluster_id(cluster_id: str) -> bytes:
    """Encode `/cluster/id`, whose version is a string."""
    return dump({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes | None) -> str:
    """Decode `/cluster/id`."""
    return load(data, CLUSTER_ID).text("id")


@dataclass(frozen=True, slots=True)
class Features:
    """The cluster's finalized features and their levels (KIP-584)."""

    enabled: bool = True
    levels: Mapping[str, int] = field(default_factory=dict[str, int])
    version: int = 2


def encode_features(features: Features) -> bytes:
    """Encode `/feature`."""
    levels = {name: {"max_version_level": level} for name, level in features.levels.items()}
    if features.version == 1:
        levels = {name: {"min_version_level": 1, **each} for name, each in levels.items()}
    return dump({"features": levels, "version": features.version, "status": int(features.enabled)})


def decode_features(data: bytes | None) -> Features:
    """Decode `/feature`, versions 1 and 2."""
    fields = load(data, FEATURE)
    version = fields.version(newest=2)
    found = fields.object("features")
    levels = {name: found.object(name).integer("max_version_level") for name in found}
    return Features(fields.integer("status") == 1, levels, version)


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """Producer ids from first to last, allocated to a broker."""

    broker: BrokerId
    first: int
    last: int


def encode_producer_id_block(block: ProducerIdBlock) -> bytes:
    """Encode `/latest_producer_id_block`."""
    return dump(
        {
            "version": 1,
            "broker": block.broker,
            "block_start": str(block.first),
            "block_end": str(block.last),
        }
    )


def decode_producer_id_block(data: bytes | None) -> ProducerIdBlock | None:
    """Decode `/latest_producer_id_block`; None if no block was ever allocated (empty node)."""
    if not data:
        return None
    fields = load(data, PRODUCER_ID_BLOCK)
    return ProducerIdBlock(
        BrokerId(fields.integer("broker")),
        fields.integer_text("block_start"),
        fields.integer_text("block_end"),
    )
