"""Why a config of a group or of client metrics is refused, in Kafka's words.

These have rules of their own, which no config of a broker or topic changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kedge.metadata.config_faults import bad_value, invalid_config, number_in, parsed
from kedge.metadata.refusal import Refused
from kedge.model.error_codes import ErrorCode
from kedge.topics import ConfigType
from kedge.topics.config_types import parse_type
from kedge.topics.value_rules import OneOf, Range

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
            raise invalid_config(f"Unknown group config name: {name}")
    numbers = {name: bounds.default for name, bounds in _GROUP_NUMBERS.items()}
    for name in _GROUP_CONFIGS:
        if (text := configs.get(name)) is None:
            continue
        if name in numbers:
            least = Range(_LEAST.get(name, 1))
            numbers[name] = int(number_in(parsed(name, text, ConfigType.INT, least)))
        elif name == "share.isolation.level":
            parsed(name, text, ConfigType.STRING, _ISOLATION)
        elif not _is_offset_reset(text.strip()):
            why = (
                f"Invalid value `{text.strip()}` for configuration {name}. The value must be "
                "either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
            )
            raise bad_value(name, text.strip(), why)
    for name, bounds in _GROUP_NUMBERS.items():
        if numbers[name] < bounds.low:
            raise invalid_config(f"{name} must be greater than or equal to {bounds.low_name}")
        if numbers[name] > bounds.high:
            raise invalid_config(f"{name} must be less than or equal to {bounds.high_name}")


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
        if not 100 <= number_in(interval) <= 3_600_000:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                f"Invalid value {interval} for {_INTERVAL}, interval must be between 100 and "
                "3600000 (1 hour)",
            )
    patterns = parse_type(configs.get("match", ""), ConfigType.LIST)
    for pattern in patterns if isinstance(patterns, tuple) else ():
        if not _is_match(pattern):
            raise invalid_config(f"Illegal client matching pattern: {pattern}")


def _is_match(pattern: str) -> bool:
    pieces = pattern.rstrip("=").split("=")
    if len(pieces) != 2 or pieces[0].strip() not in _MATCHES:
        return False
    try:
        re.compile(pieces[1].strip())
    except re.error:
        return False
    return True
