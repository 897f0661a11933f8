from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import InvalidConfiguration
from kedge.topics import (
    V3_9,
    V4_1,
    Alteration,
    BrokerConfigs,
    Described,
    Op,
    Source,
    apply_alterations,
    broker_defaults,
    describe,
    effective_value,
)

BROKER = BrokerConfigs(
    dynamic={"log.cleanup.policy": "compact"},
    dynamic_default={"log.cleanup.policy": "delete,compact", "message.max.bytes": "7"},
    static={"log.cleanup.policy": "delete", "message.max.bytes": "6", "log.segment.bytes": "99"},
)


def described(name: str, overrides: dict[str, str], broker: BrokerConfigs) -> Described:
    return next(config for config in describe(overrides, broker) if config.name == name)


@pytest.mark.parametrize(
    ("name", "overrides", "value"),
    [
        ("cleanup.policy", {"cleanup.policy": "delete , compact"}, "delete,compact"),
        ("cleanup.policy", {}, "compact"),
        ("max.message.bytes", {}, "7"),
        ("segment.bytes", {}, "99"),
        ("preallocate", {}, "false"),
        ("remote.storage.enable", {}, "false"),
    ],
)
def test_the_strongest_layer_wins(name: str, overrides: dict[str, str], value: str) -> None:
    assert effective_value(name, overrides, BROKER) == value


@pytest.mark.parametrize(
    ("static", "value"),
    [
        ({}, "604800000"),
        ({"log.retention.hours": "2"}, "7200000"),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, "180000"),
        ({"log.retention.minutes": "3", "log.retention.ms": "4"}, "4"),
        ({"log.retention.hours": "-1"}, "-1"),
        ({"log.retention.ms": "-5"}, "-1"),
    ],
)
def test_the_finest_unit_wins(static: dict[str, str], value: str) -> None:
    assert effective_value("retention.ms", {}, BrokerConfigs(static=static)) == value


def test_an_unknown_config_has_no_value() -> None:
    with pytest.raises(InvalidConfiguration):
        effective_value("nope", {})


def test_an_internal_config_is_not_described_unless_set() -> None:
    assert effective_value("internal.segment.bytes", {}, release=V4_1) is None
    names = {config.name for config in describe({}, release=V4_1)}
    assert "internal.segment.bytes" not in names
    names = {config.name for config in describe({"internal.segment.bytes": "1"}, release=V4_1)}
    assert "internal.segment.bytes" in names


def test_synonyms_are_listed_strongest_first() -> None:
    config = described("cleanup.policy", {"cleanup.policy": "compact"}, BROKER)
    assert [str(setting) for setting in config.synonyms] == [
        "DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact",
        "DYNAMIC_BROKER_CONFIG:log.cleanup.policy=compact",
        "DYNAMIC_DEFAULT_BROKER_CONFIG:log.cleanup.policy=delete,compact",
        "STATIC_BROKER_CONFIG:log.cleanup.policy=delete",
        "DEFAULT_CONFIG:log.cleanup.policy=delete",
    ]
    assert config.source is Source.TOPIC


def test_without_the_finest_unit_no_synonym_is_listed() -> None:
    config = described("retention.ms", {}, BrokerConfigs(static={"log.retention.hours": "2"}))
    assert (config.value, config.synonyms, config.source) == ("7200000", (), Source.BUILT_IN)


def test_coarser_units_are_listed_after_the_finest() -> None:
    config = described("retention.ms", {}, BrokerConfigs(static={"log.retention.ms": "5"}))
    assert [str(setting) for setting in config.synonyms] == [
        "STATIC_BROKER_CONFIG:log.retention.ms=5",
        "DEFAULT_CONFIG:log.retention.hours=168",
    ]
    assert not config.is_default


def test_everything_is_described_once_in_order() -> None:
    assert [config.name for config in describe({})] == list(V3_9.keys)
    assert all(config.is_default for config in describe({}))


def test_a_broker_that_sets_nothing_gives_the_built_in_defaults() -> None:
    assert broker_defaults(BrokerConfigs()) == V3_9.defaults()


NAMES = st.sampled_from(["retention.ms", "segment.ms", "max.message.bytes", "flush.ms"])


@given(
    st.dictionaries(NAMES, st.integers(1, 99).map(str)),
    st.dictionaries(NAMES, st.one_of(st.none(), st.integers(100, 199).map(str))),
)
def test_what_was_altered_is_what_is_described(
    current: dict[str, str], wanted: dict[str, str | None]
) -> None:
    steps = [
        Alteration(name, Op.DELETE if value is None else Op.SET, value)
        for name, value in wanted.items()
    ]
    after = apply_alterations(current, steps)
    for config in describe(after):
        set_to = wanted.get(config.name, current.get(config.name))
        if set_to is None:
            assert config.value == V3_9.key(config.name).default
        else:
            assert (config.value, config.source) == (set_to, Source.TOPIC)
