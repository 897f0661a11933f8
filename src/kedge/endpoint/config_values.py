"""Values about configs that handlers and backend share: resources, entries, and their sources."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from kedge.topics import Source


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
