"""Parses and validates the configs of a topic."""

from __future__ import annotations

from collections.abc import Mapping

from kedge.errors import InvalidConfiguration
from kedge.topics.config_keys import Release
from kedge.topics.config_table import V3_9
from kedge.topics.config_types import Value, show

NOTHING: Mapping[str, str] = {}


def parse_value(name: str, text: str, release: Release = V3_9) -> Value:
    """The value of one topic config, or InvalidConfiguration."""
    return release.key(name).parse(text)


def normalize(name: str, text: str, release: Release = V3_9) -> str:
    """The text as Kafka shows it once read: `+5` is `5`, `compact , delete` has no blanks."""
    return show(parse_value(name, text, release))


def validate_configs(
    configs: Mapping[str, str],
    *,
    release: Release = V3_9,
    underneath: Mapping[str, str] = NOTHING,
) -> dict[str, Value]:
    """Every value of a topic with these overrides, or InvalidConfiguration.

    `underneath` is what brokers set in place of the built-in defaults, by the topic's names.
    All names are validated before any value, and single values before combinations.
    """
    for name in configs:
        release.key(name)
    texts = {**release.defaults(), **underneath, **configs}
    values = {name: release.key(name).parse(text) for name, text in texts.items()}
    _validate_compaction_lag(values)
    return values


def _validate_compaction_lag(values: Mapping[str, Value]) -> None:
    low, high = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if isinstance(low, int) and isinstance(high, int) and low > high:
        raise InvalidConfiguration(
            f"min.compaction.lag.ms={low} is more than max.compaction.lag.ms={high}",
            hint="no record could ever be compacted in time",
        )
