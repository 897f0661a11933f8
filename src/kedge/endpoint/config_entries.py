"""Config entries of topics and brokers, as responses have them, and the table of broker configs.

Some configs can be changed while a broker runs, for one broker or for all (KIP-226). Others are
read once at the start: they are described and cannot be set. An unknown name is stored as it is: it
may belong to a plug-in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

from kedge.errors import InvalidConfiguration, InvalidRequest, MalformedInput
from kedge.topics import BrokerConfigs, ConfigKey, ConfigType, Release, Source, Synonym
from kedge.topics.config_types import parse_type
from kedge.topics.value_rules import AnyValue


class ResourceType(IntEnum):
    """Kinds of things with configs; the numbers are those on the wire."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


@dataclass(frozen=True, slots=True)
class Resource:
    """Something that has configs. The type is a number, because a client may send any."""

    type: int
    name: str

    def __str__(self) -> str:
        known = {kind.value: kind.name.lower() for kind in ResourceType}
        return f"{known.get(self.type, f'resource type {self.type}')} {self.name!r}"


class ConfigKind(IntEnum):
    """Types of configs, as DescribeConfigs numbers them."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


@dataclass(frozen=True, slots=True)
class ConfigSetting:
    """A config's value in one of the places where it can be set."""

    source: Source
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One config of a resource, with all settings that it was chosen from, strongest first."""

    name: str
    value: str | None
    source: Source
    kind: ConfigKind = ConfigKind.STRING
    read_only: bool = False
    sensitive: bool = False
    synonyms: tuple[ConfigSetting, ...] = ()


# ---- the table of broker configs ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BrokerKey:
    """One broker config. `low` bounds numbers; one without a default is unset until it is set."""

    name: str
    kind: ConfigType
    default: str | None
    dynamic: bool = True
    low: int | None = None
    one_broker_only: bool = False
    # a quota is not a config of the broker itself: described once it is set, as read-only
    is_quota: bool = False

    @property
    def read_only(self) -> bool:
        """Whether responses mark it read-only; a quota can be set nevertheless, as in Kafka."""
        return self.is_quota or not self.dynamic

    def validate(self, text: str) -> None:
        """Refuse a value that this config cannot have."""
        try:
            value = parse_type(text, self.kind)
        except MalformedInput as error:
            raise InvalidRequest(f"{self.name}={text}: {error.what}") from None
        if self.low is not None and isinstance(value, int) and value < self.low:
            raise InvalidRequest(f"{self.name}={text} is too low", hint=f"at least {self.low}")


_INT, _LONG, _STRING = ConfigType.INT, ConfigType.LONG, ConfigType.STRING
_BOOLEAN, _LIST, _DOUBLE = ConfigType.BOOLEAN, ConfigType.LIST, ConfigType.DOUBLE


def _quota(name: str) -> BrokerKey:
    return BrokerKey(name, _LONG, None, low=0, is_quota=True)


_DYNAMIC = (
    _quota("leader.replication.throttled.rate"),
    _quota("follower.replication.throttled.rate"),
    _quota("replica.alter.log.dirs.io.max.bytes.per.second"),
    BrokerKey("background.threads", _INT, "10", low=1),
    BrokerKey("log.cleaner.backoff.ms", _LONG, "15000", low=0),
    BrokerKey("log.cleaner.dedupe.buffer.size", _LONG, "134217728"),
    BrokerKey("log.cleaner.io.buffer.load.factor", _DOUBLE, "0.9"),
    BrokerKey("log.cleaner.io.buffer.size", _INT, "524288", low=0),
    BrokerKey("log.cleaner.io.max.bytes.per.second", _DOUBLE, "1.7976931348623157E308"),
    BrokerKey("log.cleaner.threads", _INT, "1", low=0),
    BrokerKey("max.connection.creation.rate", _INT, str(2**31 - 1), low=0),
    BrokerKey("max.connections", _INT, str(2**31 - 1), low=0),
    BrokerKey("max.connections.per.ip", _INT, str(2**31 - 1), low=0),
    BrokerKey("max.connections.per.ip.overrides", _STRING, ""),
    BrokerKey("metric.reporters", _LIST, ""),
    BrokerKey("num.io.threads", _INT, "8", low=1),
    BrokerKey("num.network.threads", _INT, "3", low=1),
    BrokerKey("num.recovery.threads.per.data.dir", _INT, "1", low=1),
    BrokerKey("num.replica.fetchers", _INT, "1"),
    BrokerKey("producer.id.expiration.ms", _INT, "86400000", low=1),
    BrokerKey("advertised.listeners", _STRING, None, one_broker_only=True),
    BrokerKey("listeners", _STRING, "PLAINTEXT://:9092", one_broker_only=True),
    BrokerKey(
        "listener.security.protocol.map",
        _STRING,
        "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
        one_broker_only=True,
    ),
)


def _fixed(name: str, kind: ConfigType, default: str | None) -> BrokerKey:
    return BrokerKey(name, kind, default, dynamic=False)


_FIXED = (
    _fixed("auto.create.topics.enable", _BOOLEAN, "true"),
    _fixed("auto.leader.rebalance.enable", _BOOLEAN, "true"),
    _fixed("broker.id", _INT, "-1"),
    _fixed("broker.rack", _STRING, None),
    _fixed("controlled.shutdown.enable", _BOOLEAN, "true"),
    _fixed("controller.quota.window.num", _INT, "11"),
    _fixed("controller.quota.window.size.seconds", _INT, "1"),
    _fixed("connections.max.idle.ms", _LONG, "600000"),
    _fixed("default.replication.factor", _INT, "1"),
    _fixed("delete.topic.enable", _BOOLEAN, "true"),
    _fixed("inter.broker.protocol.version", _STRING, "3.9-IV0"),
    _fixed("leader.imbalance.check.interval.seconds", _LONG, "300"),
    _fixed("leader.imbalance.per.broker.percentage", _INT, "10"),
    _fixed("log.dir", _STRING, "/tmp/kafka-logs"),
    _fixed("log.dirs", _STRING, None),
    _fixed("log.retention.check.interval.ms", _LONG, "300000"),
    _fixed("log.retention.hours", _INT, "168"),
    _fixed("log.retention.minutes", _INT, None),
    _fixed("log.roll.hours", _INT, "168"),
    _fixed("log.roll.jitter.hours", _INT, "0"),
    _fixed("log.message.format.version", _STRING, "3.0-IV1"),
    _fixed("num.partitions", _INT, "1"),
    _fixed("offsets.topic.num.partitions", _INT, "50"),
    _fixed("offsets.topic.replication.factor", ConfigType.INT, "3"),
    _fixed("offsets.topic.segment.bytes", _INT, "104857600"),
    _fixed("queued.max.requests", _INT, "500"),
    _fixed("replica.fetch.backoff.ms", _INT, "1000"),
    _fixed("replica.lag.time.max.ms", _LONG, "30000"),
    _fixed("request.timeout.ms", _INT, "30000"),
    _fixed("socket.request.max.bytes", _INT, "104857600"),
    _fixed("transaction.state.log.min.isr", _INT, "2"),
    _fixed("transaction.state.log.num.partitions", _INT, "50"),
    _fixed("transaction.state.log.replication.factor", _INT, "3"),
    _fixed("zookeeper.connect", _STRING, None),
    _fixed("zookeeper.session.timeout.ms", _INT, "18000"),
)


def broker_keys(release: Release) -> dict[str, BrokerKey]:
    """All known broker configs: those above, and the defaults of topic configs."""
    known = {key.name: key for key in (*_DYNAMIC, *_FIXED)}
    for topic_key in release.keys.values():
        for synonym in topic_key.synonyms[:1]:
            known.setdefault(synonym.name, _from_topic(topic_key, synonym))
    return known


def _from_topic(key: ConfigKey, synonym: Synonym) -> BrokerKey:
    return BrokerKey(synonym.name, key.kind, synonym.default)


def as_release(release: Release) -> Release:
    """The broker configs in the form of topic configs, for steps that append and subtract."""
    keys = broker_keys(release).values()
    made = {key.name: ConfigKey(key.name, key.kind, key.default, AnyValue()) for key in keys}
    return Release(f"{release.name} brokers", made)


def validate_broker_configs(
    configs: Mapping[str, str], names: Iterable[str], release: Release, *, for_all: bool
) -> None:
    """Refuse names that cannot be set while a broker runs, and invalid values."""
    known = broker_keys(release)
    fixed = sorted(name for name in names if name in known and not known[name].dynamic)
    if fixed:
        raise InvalidRequest(f"{', '.join(fixed)} cannot be changed while a broker runs")
    for name, text in configs.items():
        key = known.get(name)
        if key is None:
            continue
        if for_all and key.one_broker_only:
            raise InvalidRequest(f"{name} cannot be the same for all brokers")
        key.validate(text)
        _validate_as_topic(name, text, release)


def _validate_as_topic(name: str, text: str, release: Release) -> None:
    """A default for topics has to be a valid value for a topic."""
    for key in release.keys.values():
        if key.broker_synonym == name and key.synonyms[0].factor == 1:
            try:
                key.parse(text)
            except InvalidConfiguration as refusal:
                raise InvalidRequest(f"{name}: {refusal.what}", hint=refusal.hint) from None


def describe_broker(configs: BrokerConfigs, release: Release) -> list[ConfigEntry]:
    """Every config of a broker, sorted by name; unset ones are null, unset quotas are not there."""
    known = broker_keys(release)
    there = {name for name, key in known.items() if not key.is_quota}
    names = sorted(there.union(*(layer for _, layer in configs.layers())))
    return [_entry(name, known, configs, release) for name in names]


def describe_all_brokers(dynamic: Mapping[str, str], release: Release) -> list[ConfigEntry]:
    """The configs that were set for all brokers."""
    known = broker_keys(release)
    configs = BrokerConfigs({}, dynamic, {})
    found = [_entry(name, known, configs, release) for name in sorted(dynamic)]
    return [replace(entry, synonyms=entry.synonyms[:1]) for entry in found]


Known = Mapping[str, BrokerKey]


def _entry(name: str, known: Known, configs: BrokerConfigs, release: Release) -> ConfigEntry:
    key = known.get(name)
    found = _settings(_names_of(name, release), known, configs)
    strongest = next((each for each in found if each.name == name), None)
    return ConfigEntry(
        name=name,
        value=None if strongest is None else strongest.value,
        source=Source.BUILT_IN if strongest is None else strongest.source,
        kind=ConfigKind.UNKNOWN if key is None else ConfigKind[key.kind.name],
        read_only=key is None or key.read_only,
        # an unknown config may be a password
        sensitive=key is None,
        synonyms=tuple(found),
    )


def _settings(names: list[str], known: Known, configs: BrokerConfigs) -> list[ConfigSetting]:
    """A config in all layers, under all names that set it (in other units)."""
    defaults = {name: known[name].default for name in names if name in known}
    built_in = {name: text for name, text in defaults.items() if text is not None}
    layers = (*configs.layers(), (Source.BUILT_IN, built_in))
    return [
        ConfigSetting(source, name, layer[name])
        for source, layer in layers
        for name in names
        if name in layer
    ]


def _names_of(name: str, release: Release) -> list[str]:
    for key in release.keys.values():
        if key.broker_synonym == name:
            return [synonym.name for synonym in key.synonyms]
    return [name]
