"""The effective value of each topic config, its source, and its synonyms in other layers.

A topic's own override comes first. Below it lie the broker's configs, in four layers: set at run
time for that broker, set at run time for all brokers, written in `server.properties`, built in.
The broker calls most configs by another name, and gives some in several units; the finer unit
wins (`log.retention.ms` over `log.retention.minutes` over `log.retention.hours`).

    retention.ms     topic  (nothing)
                     broker log.retention.ms       (nothing in any layer)
                            log.retention.hours    static 48, built in 168
                     → 172800000

`describe` lists synonyms as Kafka's DescribeConfigs does. Kafka drops those that come before the
first mention of the finest unit; where that one is not set, as above, none is listed at all and
the source reads DEFAULT_CONFIG.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import dropwhile

from kedge.topics.config_keys import ConfigKey, Release, Synonym
from kedge.topics.config_table import V3_9
from kedge.topics.config_types import ConfigType, parse_type, show


class Source(StrEnum):
    """The source of a value, as Kafka names it, strongest first."""

    TOPIC = "DYNAMIC_TOPIC_CONFIG"
    BROKER = "DYNAMIC_BROKER_CONFIG"
    ALL_BROKERS = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    STATIC = "STATIC_BROKER_CONFIG"
    BUILT_IN = "DEFAULT_CONFIG"


@dataclass(frozen=True, slots=True)
class BrokerConfigs:
    """The configs set on a broker, by the broker's names."""

    dynamic: Mapping[str, str] = field(default_factory=dict[str, str])
    dynamic_default: Mapping[str, str] = field(default_factory=dict[str, str])
    static: Mapping[str, str] = field(default_factory=dict[str, str])

    def layers(self) -> tuple[tuple[Source, Mapping[str, str]], ...]:
        """The layers, strongest first."""
        return (
            (Source.BROKER, self.dynamic),
            (Source.ALL_BROKERS, self.dynamic_default),
            (Source.STATIC, self.static),
        )

    def find(self, name: str) -> str | None:
        """The strongest setting of one broker config."""
        return next((layer[name] for _, layer in self.layers() if name in layer), None)


@dataclass(frozen=True, slots=True)
class Setting:
    """One name and value, with its source."""

    source: Source
    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.source.value}:{self.name}={self.value}"


@dataclass(frozen=True, slots=True)
class Described:
    """One topic config in a description."""

    name: str
    value: str
    source: Source
    synonyms: tuple[Setting, ...]

    @property
    def is_default(self) -> bool:
        """Whether it is not set anywhere."""
        return self.source is Source.BUILT_IN


NO_BROKER = BrokerConfigs()


def broker_value(key: ConfigKey, broker: BrokerConfigs) -> str | None:
    """The value of a topic without an override, in the topic's own unit."""
    for synonym in key.synonyms:
        text = broker.find(synonym.name)
        text = synonym.default if text is None else text
        if text is not None:
            return _in_topic_unit(key, synonym, text)
    return key.default


def broker_defaults(broker: BrokerConfigs, release: Release = V3_9) -> dict[str, str]:
    """The defaults that a broker gives its topics, by the topic's names."""
    found = {key.name: broker_value(key, broker) for key in release.keys.values()}
    return {name: text for name, text in found.items() if text is not None}


def effective_value(
    name: str,
    overrides: Mapping[str, str],
    broker: BrokerConfigs = NO_BROKER,
    release: Release = V3_9,
) -> str | None:
    """The effective value as Kafka prints it; None for an internal config that is unset."""
    key = release.key(name)
    text = overrides.get(name, broker_value(key, broker))
    return None if text is None else show(parse_type(text, key.kind))


def describe(
    overrides: Mapping[str, str],
    broker: BrokerConfigs = NO_BROKER,
    release: Release = V3_9,
) -> list[Described]:
    """Every config of a topic, sorted by name."""
    described = (_describe(key, overrides, broker) for key in release.keys.values())
    return [config for config in described if config]


def _describe(
    key: ConfigKey, overrides: Mapping[str, str], broker: BrokerConfigs
) -> Described | None:
    text = overrides.get(key.name, broker_value(key, broker))
    if text is None:
        return None
    value = show(parse_type(text, key.kind))
    own = [Setting(Source.TOPIC, key.name, value)] if key.name in overrides else []
    synonyms = (*own, *_broker_settings(key, broker))
    source = synonyms[0].source if synonyms else Source.BUILT_IN
    return Described(key.name, value, source, synonyms)


def _broker_settings(key: ConfigKey, broker: BrokerConfigs) -> list[Setting]:
    built_in = {s.name: s.default for s in key.synonyms if s.default is not None}
    layers = (*broker.layers(), (Source.BUILT_IN, built_in))
    settings = [
        Setting(source, synonym.name, layer[synonym.name])
        for source, layer in layers
        for synonym in key.synonyms
        if synonym.name in layer
    ]
    return list(dropwhile(lambda setting: setting.name != key.broker_synonym, settings))


def _in_topic_unit(key: ConfigKey, synonym: Synonym, text: str) -> str:
    if synonym.factor == 1 and key.name != "retention.ms":
        return text
    amount = parse_type(text, ConfigType.LONG)
    assert isinstance(amount, int), "a LONG is read as a whole number"
    # Any negative retention time means forever, which topics spell -1.
    return "-1" if amount < 0 and key.name == "retention.ms" else str(amount * synonym.factor)
