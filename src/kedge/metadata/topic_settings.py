"""The effective configs of topics as the controller sees them.

A topic's own setting comes first, then those of brokers: set at run time for this node, set at run
time for all, written in `server.properties`; else the built-in default.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TypeAlias

from kedge.metadata.decision import Situation
from kedge.metadata.image import ConfigResource
from kedge.metadata.open_enum import OpenEnum
from kedge.model.java_text import trim, whole_number
from kedge.topics import V4_1, ConfigKey, Synonym

MIN_ISR = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"


class ResourceKind(OpenEnum):
    """What a config belongs to; the numbers are those on the wire."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


ALL_BROKERS: ConfigResource = (ResourceKind.BROKER, "")


class ConfigSource(IntEnum):
    """Where a value comes from; the numbers are those on the wire."""

    TOPIC = 1
    BROKER = 2
    ALL_BROKERS = 3
    STATIC = 4
    DEFAULT = 5


Effective: TypeAlias = tuple[str | None, ConfigSource]


def effective(at: Situation, overrides: Mapping[str, str], name: str) -> Effective:
    """The value of a topic's config, and its source."""
    if name in overrides:
        return overrides[name], ConfigSource.TOPIC
    key = V4_1.keys[name]
    layers = (
        (ConfigSource.BROKER, at.image.config((ResourceKind.BROKER, str(at.settings.node_id)))),
        (ConfigSource.ALL_BROKERS, at.image.config(ALL_BROKERS)),
        (ConfigSource.STATIC, at.settings.static),
    )
    for source, layer in layers:
        for synonym in key.synonyms:
            if synonym.name in layer:
                return _converted(synonym, layer[synonym.name]), source
    return key.default, ConfigSource.DEFAULT


def _converted(synonym: Synonym, text: str) -> str:
    return text if synonym.factor == 1 else str(_number(text, 0) * synonym.factor)


def _number(text: str, default: int) -> int:
    """A whole number; the default for a text that is none.

    The controller does not validate configs of brokers, so any text may be stored.
    """
    found = whole_number(trim(text))
    return default if found is None else found


def all_effective(at: Situation, overrides: Mapping[str, str]) -> dict[str, Effective]:
    """Every config of a topic by name; internal ones only where they are set."""
    return {
        key.name: effective(at, overrides, key.name)
        for key in V4_1.keys.values()
        if _shown(key, overrides)
    }


def _shown(key: ConfigKey, overrides: Mapping[str, str]) -> bool:
    return not key.internal or key.name in overrides


def topic_value(at: Situation, topic: str, name: str) -> str:
    """The value of a config that every topic has."""
    value, _ = effective(at, at.image.config((ResourceKind.TOPIC, topic)), name)
    return value or ""


def allows_unclean_election(at: Situation, topic: str) -> bool:
    """Whether a topic may elect a replica that is not in sync."""
    return topic_value(at, topic, UNCLEAN).lower() == "true"


def min_isr(at: Situation, topic: str, replicas: int) -> int:
    """How many replicas of a topic must be in sync, at most all of them."""
    return min(_number(topic_value(at, topic, MIN_ISR), 1), replicas)


def static_min_isr(at: Situation) -> int:
    """The cluster's min.insync.replicas as `server.properties` has it."""
    return _number(at.settings.static.get(MIN_ISR, "1"), 1)
