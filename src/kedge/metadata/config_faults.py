"""Why a config value is refused, in Kafka's words.

The rules are those of `kedge.topics`; only the texts are made here, since clients of a controller
show them. Group and client-metrics configs have rules of their own (`client_config_faults`).
"""

from __future__ import annotations

from collections.abc import Mapping

from kedge.errors import MalformedInput
from kedge.metadata.refusal import Refused
from kedge.model.error_codes import ErrorCode
from kedge.model.scala_map_order import properties_order
from kedge.topics import V4_1, BrokerConfigs, ConfigType, Value, broker_defaults
from kedge.topics.config_types import parse_type, show
from kedge.topics.value_rules import (
    EachOneOf,
    OneOf,
    Range,
    RangeOr,
    ThrottledReplicas,
    Validity,
)

# the sequence in which Kafka looks at values: of two faults the answer has the first
_SEQUENCE = (
    "segment.bytes",
    "segment.ms",
    "segment.jitter.ms",
    "segment.index.bytes",
    "flush.messages",
    "flush.ms",
    "retention.bytes",
    "retention.ms",
    "max.message.bytes",
    "index.interval.bytes",
    "delete.retention.ms",
    "min.compaction.lag.ms",
    "max.compaction.lag.ms",
    "file.delete.delay.ms",
    "min.cleanable.dirty.ratio",
    "cleanup.policy",
    "unclean.leader.election.enable",
    "min.insync.replicas",
    "compression.type",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    "preallocate",
    "message.timestamp.type",
    "message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
    "remote.storage.enable",
    "local.retention.ms",
    "local.retention.bytes",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "internal.segment.bytes",
)


def validate_topic_configs(
    configs: Mapping[str, str],
    *,
    existing: Mapping[str, str],
    static: Mapping[str, str],
    remote_storage: bool,
) -> None:
    """Refuse overrides that a topic cannot have, single values before combinations."""
    for name in properties_order(configs):
        if name not in V4_1.keys:
            raise invalid_config(f"Unknown topic config name: {name}")
    texts = {**broker_defaults(BrokerConfigs(static=static), V4_1), **configs}
    values = {
        name: parsed(name, text, V4_1.keys[name].kind, V4_1.keys[name].validity)
        for name in _SEQUENCE
        if (text := texts.get(name)) is not None
    }
    low, high = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if number_in(low) > number_in(high):
        raise invalid_config(
            f"conflict topic config setting min.compaction.lag.ms ({low}) > "
            f"max.compaction.lag.ms ({high})"
        )
    if values["remote.storage.enable"]:
        _validate_remote(values, remote_storage)
    elif (
        existing.get("remote.storage.enable", "").lower() == "true"
        and not values["remote.log.delete.on.disable"]
    ):
        raise invalid_config(
            "It is invalid to disable remote storage without deleting remote data. If you want to "
            "keep the remote data and turn to read only, please set "
            "`remote.storage.enable=true,remote.log.copy.disable=true`. If you want to disable "
            "remote storage and delete all remote data, please set "
            "`remote.storage.enable=false,remote.log.delete.on.disable=true`."
        )


def _validate_remote(values: Mapping[str, Value], system_enabled: bool) -> None:
    if not system_enabled:
        raise invalid_config(
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured "
            "with remote log storage."
        )
    if values["cleanup.policy"] != ("delete",):
        raise invalid_config("Remote log storage only supports topics with cleanup.policy=delete")
    for unit, unlimited in (("bytes", -1), ("ms", -1)):
        total = number_in(values[f"retention.{unit}"])
        local = number_in(values[f"local.retention.{unit}"])
        limited = total > unlimited if unit == "bytes" else total != unlimited
        if limited and local == -1:
            why = f"Value must not be -1 as retention.{unit} value is set as {total}."
            raise bad_value(f"local.retention.{unit}", local, why)
        if limited and local not in (-2, -1) and local > total:
            why = f"Value must not be more than retention.{unit} property value: {total}"
            raise bad_value(f"local.retention.{unit}", local, why)
    if values["remote.log.copy.disable"]:
        for unit in ("bytes", "ms"):
            local = values[f"local.retention.{unit}"]
            if local not in (-2, values[f"retention.{unit}"]):
                raise invalid_config(
                    "When `remote.log.copy.disable` is set to true, the "
                    f"`local.retention.{unit}` and `retention.{unit}` must be set to the "
                    "identical value because there will be no more logs copied to the remote "
                    "storage."
                )


def parsed(name: str, text: str, kind: ConfigType, validity: Validity) -> Value:
    """The value of a text, or INVALID_CONFIG with Kafka's reason."""
    try:
        value = parse_type(text, kind)
    except MalformedInput:
        if kind is ConfigType.BOOLEAN:
            raise bad_value(name, text, "Expected value to be either true or false") from None
        raise bad_value(name, text, f"Not a number of type {kind.value}") from None
    if validity.fault(value):
        raise _fault(name, value, validity)
    return value


def _fault(name: str, value: Value, validity: Validity) -> Refused:
    match validity:
        case Range():
            if validity.low is not None and number_in(value) < validity.low:
                return bad_value(name, value, f"Value must be at least {validity.low}")
            return bad_value(name, value, f"Value must be no more than {validity.high}")
        case RangeOr():
            low, high = validity.range.low, validity.range.high
            why = f"Value must be between {low} and {high} or equal to {validity.special}"
            return bad_value(name, value, why)
        case OneOf():
            why = f"String must be one of: {', '.join(validity.words)}"
            return bad_value(name, value, why)
        case EachOneOf():
            words = value if isinstance(value, tuple) else ()
            wrong = next(word for word in words if word not in validity.words)
            why = f"String must be one of: {', '.join(validity.words)}"
            return bad_value(name, wrong, why)
        case ThrottledReplicas():
            why = (
                f"{name} must be the literal '*' or a list of replicas in the following format: "
                "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
            )
            return bad_value(name, value, why)
        case _:
            return bad_value(name, value, validity.fault(value) or "")


def number_in(value: Value) -> float:
    """A value that was parsed as a number."""
    assert isinstance(value, int | float), "the value was parsed as a number"
    return value


def bad_value(name: str, value: Value, why: str) -> Refused:
    """The refusal of one value."""
    shown = f"[{', '.join(value)}]" if isinstance(value, tuple) else show(value)
    return invalid_config(f"Invalid value {shown} for configuration {name}: {why}")


def invalid_config(message: str) -> Refused:
    """The refusal of a config."""
    return Refused(ErrorCode.INVALID_CONFIG, message)
