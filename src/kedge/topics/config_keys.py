"""The description of a topic config, and the set of configs of one Kafka release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kedge.errors import InvalidConfiguration, MalformedInput
from kedge.topics.config_types import ConfigType, Value, parse_type
from kedge.topics.value_rules import Validity


@dataclass(frozen=True, slots=True)
class Synonym:
    """A broker config that is the default of a topic config, and the factor between their units."""

    name: str
    factor: int = 1
    default: str | None = None


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One topic config. A default of None means that there is none (an internal config)."""

    name: str
    kind: ConfigType
    default: str | None
    validity: Validity
    synonyms: tuple[Synonym, ...] = ()
    internal: bool = False

    @property
    def broker_synonym(self) -> str | None:
        """The first broker config that supplies the default, as Kafka's documentation names it."""
        return self.synonyms[0].name if self.synonyms else None

    def parse(self, text: str) -> Value:
        """The value of a text, or InvalidConfiguration."""
        try:
            value = parse_type(text, self.kind)
        except MalformedInput as error:
            raise self.refusal(text, error.what) from None
        if wrong := self.validity.fault(value):
            raise self.refusal(text, f"it {wrong}")
        return value

    def refusal(self, text: str, why: str) -> InvalidConfiguration:
        """The error for a text that this config cannot have."""
        hint = f"{self.kind.value.lower()}, {self.validity}"
        return InvalidConfiguration(f"{self.name}={text}: {why}", hint=f"allowed: {hint}")


@dataclass(frozen=True, slots=True)
class Release:
    """The topic configs that one Kafka release knows."""

    name: str
    keys: Mapping[str, ConfigKey]

    def key(self, name: str) -> ConfigKey:
        """The config of that name, or InvalidConfiguration."""
        if name not in self.keys:
            raise InvalidConfiguration(
                f"unknown topic config {name!r}",
                hint=f"Kafka {self.name} has no such config",
            )
        return self.keys[name]

    def defaults(self) -> dict[str, str]:
        """The built-in default of every config that has one."""
        return {k.name: k.default for k in self.keys.values() if k.default is not None}
