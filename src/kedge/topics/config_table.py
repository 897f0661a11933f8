"""The table of all topic configs of Kafka 3.9 and 4.1.

`V3_9` is the last release that runs on ZooKeeper. `V4_1` drops what only old clients needed,
bounds the size of segments from below, and limits timestamps in the future.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from kedge.model.java_text import INT64_MAX
from kedge.topics.config_keys import ConfigKey, Release, Synonym
from kedge.topics.config_types import ConfigType
from kedge.topics.value_rules import (
    AnyValue,
    EachOneOf,
    OneOf,
    Range,
    RangeOr,
    ThrottledReplicas,
    Validity,
    VersionName,
)

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

# How many steps (`-IV0`, `-IV1`, …) each release took on its way; the oldest had no such steps.
_STEPS = {
    "0.8.0": 0,
    "0.8.1": 0,
    "0.8.2": 0,
    "0.9.0": 0,
    "0.10.0": 2,
    "0.10.1": 3,
    "0.10.2": 1,
    "0.11.0": 3,
    "1.0": 1,
    "1.1": 1,
    "2.0": 2,
    "2.1": 3,
    "2.2": 2,
    "2.3": 2,
    "2.4": 2,
    "2.5": 1,
    "2.6": 1,
    "2.7": 3,
    "2.8": 2,
    "3.0": 2,
    "3.1": 1,
    "3.2": 1,
    "3.3": 4,
    "3.4": 1,
    "3.5": 3,
    "3.6": 3,
    "3.7": 5,
    "3.8": 1,
    "3.9": 1,
    "4.0": 2,
}
_STEP_NAMES = {f"{release}-IV{step}" for release, steps in _STEPS.items() for step in range(steps)}

# To 3.9.1 the release 4.0 is yet to come: it knows the steps towards it but not the release.
MESSAGE_FORMATS = frozenset(_STEP_NAMES | _STEPS.keys() - {"4.0"})

_FOREVER = str(INT64_MAX)
_CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
_BOOLEAN, _STRING, _INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
_LONG, _DOUBLE, _LIST = ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST


def _key(
    name: str,
    kind: ConfigType,
    default: str,
    validity: Validity | None = None,
    broker: str | tuple[Synonym, ...] = (),
) -> ConfigKey:
    synonyms = (Synonym(broker, default=default),) if isinstance(broker, str) else broker
    return ConfigKey(name, kind, default, validity or AnyValue(), synonyms)


def _at_least(low: int) -> Range:
    return Range(low)


_RETENTION = (
    Synonym("log.retention.ms"),
    Synonym("log.retention.minutes", MINUTE_MS),
    Synonym("log.retention.hours", HOUR_MS, default="168"),
)
_ROLL = (Synonym("log.roll.ms"), Synonym("log.roll.hours", HOUR_MS, default="168"))
_JITTER = (Synonym("log.roll.jitter.ms"), Synonym("log.roll.jitter.hours", HOUR_MS, default="0"))
_FLUSH = (
    Synonym("log.flush.interval.ms"),
    Synonym("log.flush.scheduler.interval.ms", default=_FOREVER),
)
_CLEANER = "log.cleaner"
_TIMESTAMP = "message.timestamp"

_KEYS_3_9 = (
    _key("cleanup.policy", _LIST, "delete", EachOneOf(("compact", "delete")), "log.cleanup.policy"),
    _key("compression.gzip.level", _INT, "-1", RangeOr(Range(1, 9), -1), "compression.gzip.level"),
    _key("compression.lz4.level", _INT, "9", Range(1, 17), "compression.lz4.level"),
    _key("compression.type", _STRING, "producer", OneOf(_CODECS), "compression.type"),
    _key("compression.zstd.level", _INT, "3", Range(-131072, 22), "compression.zstd.level"),
    _key(
        "delete.retention.ms", _LONG, str(DAY_MS), _at_least(0), f"{_CLEANER}.delete.retention.ms"
    ),
    _key("file.delete.delay.ms", _LONG, "60000", _at_least(0), "log.segment.delete.delay.ms"),
    _key("flush.messages", _LONG, _FOREVER, _at_least(1), "log.flush.interval.messages"),
    _key("flush.ms", _LONG, _FOREVER, _at_least(0), _FLUSH),
    _key("follower.replication.throttled.replicas", _LIST, "", ThrottledReplicas()),
    _key("index.interval.bytes", _INT, "4096", _at_least(0), "log.index.interval.bytes"),
    _key("leader.replication.throttled.replicas", _LIST, "", ThrottledReplicas()),
    _key("local.retention.bytes", _LONG, "-2", _at_least(-2), "log.local.retention.bytes"),
    _key("local.retention.ms", _LONG, "-2", _at_least(-2), "log.local.retention.ms"),
    _key(
        "max.compaction.lag.ms", _LONG, _FOREVER, _at_least(1), f"{_CLEANER}.max.compaction.lag.ms"
    ),
    _key("max.message.bytes", _INT, "1048588", _at_least(0), "message.max.bytes"),
    _key(
        "message.downconversion.enable",
        _BOOLEAN,
        "true",
        broker="log.message.downconversion.enable",
    ),
    _key(
        "message.format.version",
        _STRING,
        "3.0-IV1",
        VersionName(MESSAGE_FORMATS),
        "log.message.format.version",
    ),
    _key(
        f"{_TIMESTAMP}.after.max.ms",
        _LONG,
        _FOREVER,
        _at_least(0),
        f"log.{_TIMESTAMP}.after.max.ms",
    ),
    _key(
        f"{_TIMESTAMP}.before.max.ms",
        _LONG,
        _FOREVER,
        _at_least(0),
        f"log.{_TIMESTAMP}.before.max.ms",
    ),
    _key(
        f"{_TIMESTAMP}.difference.max.ms",
        _LONG,
        _FOREVER,
        _at_least(0),
        f"log.{_TIMESTAMP}.difference.max.ms",
    ),
    _key(
        f"{_TIMESTAMP}.type",
        _STRING,
        "CreateTime",
        OneOf(("CreateTime", "LogAppendTime")),
        f"log.{_TIMESTAMP}.type",
    ),
    _key(
        "min.cleanable.dirty.ratio", _DOUBLE, "0.5", Range(0, 1), f"{_CLEANER}.min.cleanable.ratio"
    ),
    _key("min.compaction.lag.ms", _LONG, "0", _at_least(0), f"{_CLEANER}.min.compaction.lag.ms"),
    _key("min.insync.replicas", _INT, "1", _at_least(1), "min.insync.replicas"),
    _key("preallocate", _BOOLEAN, "false", broker="log.preallocate"),
    _key("remote.log.copy.disable", _BOOLEAN, "false"),
    _key("remote.log.delete.on.disable", _BOOLEAN, "false"),
    _key("remote.storage.enable", _BOOLEAN, "false"),
    _key("retention.bytes", _LONG, "-1", broker="log.retention.bytes"),
    _key("retention.ms", _LONG, str(7 * DAY_MS), _at_least(-1), _RETENTION),
    _key("segment.bytes", _INT, str(2**30), _at_least(14), "log.segment.bytes"),
    _key("segment.index.bytes", _INT, str(10 * 2**20), _at_least(4), "log.index.size.max.bytes"),
    _key("segment.jitter.ms", _LONG, "0", _at_least(0), _JITTER),
    _key("segment.ms", _LONG, str(7 * DAY_MS), _at_least(1), _ROLL),
    _key(
        "unclean.leader.election.enable", _BOOLEAN, "false", broker="unclean.leader.election.enable"
    ),
)


def _table(keys: Iterable[ConfigKey]) -> Mapping[str, ConfigKey]:
    return MappingProxyType({key.name: key for key in sorted(keys, key=lambda key: key.name)})


def _keys_4_1() -> Iterable[ConfigKey]:
    gone = {
        "message.downconversion.enable",
        "message.format.version",
        "message.timestamp.difference.max.ms",
    }
    for key in _KEYS_3_9:
        if key.name == "segment.bytes":
            yield replace(key, validity=_at_least(2**20))
        elif key.name == "message.timestamp.after.max.ms":
            hour = str(HOUR_MS)
            yield replace(key, default=hour, synonyms=(replace(key.synonyms[0], default=hour),))
        elif key.name not in gone:
            yield key
    yield ConfigKey("internal.segment.bytes", _INT, None, AnyValue(), internal=True)


V3_9 = Release("3.9", _table(_KEYS_3_9))
V4_1 = Release("4.1", _table(_keys_4_1()))
