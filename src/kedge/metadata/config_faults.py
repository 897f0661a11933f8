"""Why a config value is refused, in Kafka's words.

The rules are those of `kedge.topics`; only the texts are made here, since clients of a controller
show them. Group and client-metrics configs have rules of their own, which no broker config changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

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
            raise _invalid(f"Unknown topic config name: {name}")
    texts = {**broker_defaults(BrokerConfigs(static=static), V4_1), **configs}
    values = {
        name: parsed(name, text, V4_1.keys[name].kind, V4_1.keys[name].validity)
        for name in _SEQUENCE
        if (text := texts.get(name)) is not None
    }
    low, high = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if _number(low) > _number(high):
        raise _invalid(
            f"conflict topic config setting min.compaction.lag.ms ({low}) > "
            f"max.compaction.lag.ms ({high})"
        )
    if values["remote.storage.enable"]:
        _validate_remote(values, remote_storage)
    elif (
        existing.get("remote.storage.enable", "").lower() == "true"
        and not values["remote.log.delete.on.disable"]
    ):
        raise _invalid(
            "It is invalid to disable remote storage without deleting remote data. If you want to "
            "keep the remote data and turn to read only, please set "
            "`remote.storage.enable=true,remote.log.copy.disable=true`. If you want to disable "
            "remote storage and delete all remote data, please set "
            "`remote.storage.enable=false,remote.log.delete.on.disable=true`."
        )


def _validate_remote(values: Mapping[str, Value], system_enabled: bool) -> None:
    if not system_enabled:
        raise _invalid(
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured "
            "with remote log storage."
        )
    if values["cleanup.policy"] != ("delete",):
        raise _invalid("Remote log storage only supports topics with cleanup.policy=delete")
    for unit, unlimited in (("bytes", -1), ("ms", -1)):
        total = _number(values[f"retention.{unit}"])
        local = _number(values[f"local.retention.{unit}"])
        limited = total > unlimited if unit == "bytes" else total != unlimited
        if limited and local == -1:
            why = f"Value must not be -1 as retention.{unit} value is set as {total}."
            raise _bad_value(f"local.retention.{unit}", local, why)
        if limited and local not in (-2, -1) and local > total:
            why = f"Value must not be more than retention.{unit} property value: {total}"
            raise _bad_value(f"local.retention.{unit}", local, why)
    if values["remote.log.copy.disable"]:
        for unit in ("bytes", "ms"):
            local = values[f"local.retention.{unit}"]
            if local not in (-2, values[f"retention.{unit}"]):
                raise _invalid(
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
            raise _bad_value(name, text, "Expected value to be either true or false") from None
        raise _bad_value(name, text, f"Not a number of type {kind.value}") from None
    if validity.fault(value):
        raise _fault(name, value, validity)
    return value


def _fault(name: str, value: Value, validity: Validity) -> Refused:
    match validity:
        case Range():
            if validity.low is not None and _number(value) < validity.low:
                return _bad_value(name, value, f"Value must be at least {validity.low}")
            return _bad_value(name, value, f"Value must be no more than {validity.high}")
        case RangeOr():
            low, high = validity.range.low, validity.range.high
            why = f"Value must be between {low} and {high} or equal to {validity.special}"
            return _bad_value(name, value, why)
        case OneOf():
            why = f"String must be one of: {', '.join(validity.words)}"
            return _bad_value(name, value, why)
        case EachOneOf():
            words = value if isinstance(value, tuple) else ()
            wrong = next(word for word in words if word not in validity.words)
            why = f"String must be one of: {', '.join(validity.words)}"
            return _bad_value(name, wrong, why)
        case ThrottledReplicas():
            why = (
                f"{name} must be the literal '*' or a list of replicas in the following format: "
                "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
            )
            return _bad_value(name, value, why)
        case _:
            return _bad_value(name, value, validity.fault(value) or "")


# ---- groups --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The default of a group's config, and the broker's bounds with the names of their configs."""

    default: int
    low: int
    high: int
    low_name: str
    high_name: str


def _bounds(default: int, low: int, high: int, kind: str, what: str) -> _Bounds:
    return _Bounds(default, low, high, f"group.{kind}.min.{what}", f"group.{kind}.max.{what}")


_SESSION, _HEARTBEAT = "session.timeout.ms", "heartbeat.interval.ms"


def _timeouts(kind: str) -> dict[str, _Bounds]:
    return {
        f"{kind}.{_HEARTBEAT}": _bounds(5_000, 5_000, 15_000, kind, _HEARTBEAT),
        f"{kind}.{_SESSION}": _bounds(45_000, 45_000, 60_000, kind, _SESSION),
    }


_GROUP_NUMBERS: Mapping[str, _Bounds] = {
    **_timeouts("consumer"),
    **_timeouts("share"),
    "share.record.lock.duration.ms": _bounds(
        30_000, 15_000, 60_000, "share", "record.lock.duration.ms"
    ),
    **_timeouts("streams"),
    "streams.num.standby.replicas": _bounds(0, 0, 2, "streams", "standby.replicas"),
}
_LEAST = {"share.record.lock.duration.ms": 1_000, "streams.num.standby.replicas": 0}
# in the sequence in which Kafka's definition has them: of several bad values the first is named
_GROUP_CONFIGS = (
    f"consumer.{_SESSION}",
    f"consumer.{_HEARTBEAT}",
    f"share.{_SESSION}",
    f"share.{_HEARTBEAT}",
    "share.record.lock.duration.ms",
    "share.auto.offset.reset",
    "share.isolation.level",
    f"streams.{_SESSION}",
    f"streams.{_HEARTBEAT}",
    "streams.num.standby.replicas",
)
_BY_DURATION = "by_duration:"
_DURATION = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?(T(?=[-+\d])(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?"
    r"(?:([-+]?\d+)(?:[.,]\d{0,9})?S)?)?",
    re.ASCII | re.IGNORECASE,
)
_ISOLATION = OneOf(("read_committed", "read_uncommitted"))


def validate_group_configs(configs: Mapping[str, str]) -> None:
    """Refuse configs that a group cannot have."""
    for name in configs:
        if name not in _GROUP_CONFIGS:
            raise _invalid(f"Unknown group config name: {name}")
    numbers = {name: bounds.default for name, bounds in _GROUP_NUMBERS.items()}
    for name in _GROUP_CONFIGS:
        if (text := configs.get(name)) is None:
            continue
        if name in numbers:
            least = Range(_LEAST.get(name, 1))
            numbers[name] = int(_number(parsed(name, text, ConfigType.INT, least)))
        elif name == "share.isolation.level":
            parsed(name, text, ConfigType.STRING, _ISOLATION)
        elif not _is_offset_reset(text.strip()):
            why = (
                f"Invalid value `{text.strip()}` for configuration {name}. The value must be "
                "either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
            )
            raise _bad_value(name, text.strip(), why)
    for name, bounds in _GROUP_NUMBERS.items():
        if numbers[name] < bounds.low:
            raise _invalid(f"{name} must be greater than or equal to {bounds.low_name}")
        if numbers[name] > bounds.high:
            raise _invalid(f"{name} must be less than or equal to {bounds.high_name}")


def _is_offset_reset(text: str) -> bool:
    """Whether a share group can start there: at an end, or some time ago (ISO 8601)."""
    if not text.startswith(_BY_DURATION):
        return text in ("earliest", "latest")
    found = _DURATION.fullmatch(text.removeprefix(_BY_DURATION))
    if found is None or (found[2] is None and found[3] is None):
        return False
    days, hours, minutes, seconds = (int(found[n] or 0) for n in (2, 4, 5, 6))
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return total <= 0 if found[1] == "-" else total >= 0


# ---- client metrics ------------------------------------------------------------------------------

_INTERVAL = "interval.ms"
_MATCHES = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


def validate_client_metrics(name: str, configs: Mapping[str, str]) -> None:
    """Refuse a subscription to client metrics (KIP-714) that clients could not follow."""
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    for key in configs:
        if key not in ("metrics", _INTERVAL, "match"):
            message = f"Unknown client metrics configuration: {key}"
            raise Refused(ErrorCode.INVALID_REQUEST, message)
    if _INTERVAL in configs:
        interval = parsed(_INTERVAL, configs[_INTERVAL], ConfigType.INT, Range())
        if not 100 <= _number(interval) <= 3_600_000:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                f"Invalid value {interval} for {_INTERVAL}, interval must be between 100 and "
                "3600000 (1 hour)",
            )
    patterns = parse_type(configs.get("match", ""), ConfigType.LIST)
    for pattern in patterns if isinstance(patterns, tuple) else ():
        if not _is_match(pattern):
            raise _invalid(f"Illegal client matching pattern: {pattern}")


def _is_match(pattern: str) -> bool:
    pieces = pattern.rstrip("=").split("=")
    if len(pieces) != 2 or pieces[0].strip() not in _MATCHES:
        return False
    try:
        re.compile(pieces[1].strip())
    except re.error:
        return False
    return True


def _number(value: Value) -> float:
    assert isinstance(value, int | float), "the value was parsed as a number"
    return value


def _bad_value(name: str, value: Value, why: str) -> Refused:
    shown = f"[{', '.join(value)}]" if isinstance(value, tuple) else show(value)
    return _invalid(f"Invalid value {shown} for configuration {name}: {why}")


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_CONFIG, message)
