from __future__ import annotations

import pytest

from kedge.errors import InvalidConfiguration
from kedge.topics import V3_9, V4_1, Release, normalize, parse_value, validate_configs

VERSION = "message.format.version"
THROTTLED = "leader.replication.throttled.replicas"


@pytest.mark.parametrize("release", [V3_9, V4_1], ids=lambda r: r.name)
def test_every_default_is_legal_and_shown_as_it_is_written(release: Release) -> None:
    for name, text in release.defaults().items():
        assert normalize(name, text, release) == text


def test_the_releases_differ_as_documented() -> None:
    gone = set(V3_9.keys) - set(V4_1.keys)
    assert gone == {
        "message.downconversion.enable",
        "message.format.version",
        "message.timestamp.difference.max.ms",
    }
    assert set(V4_1.keys) - set(V3_9.keys) == {"internal.segment.bytes"}
    assert parse_value("segment.bytes", "14") == 14
    with pytest.raises(InvalidConfiguration, match="at least 1048576"):
        parse_value("segment.bytes", "1048575", V4_1)
    assert V4_1.key("message.timestamp.after.max.ms").default == "3600000"


def test_the_table_is_sorted_and_complete() -> None:
    assert list(V3_9.keys) == sorted(V3_9.keys)
    assert (len(V3_9.keys), len(V4_1.keys)) == (36, 34)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("retention.ms", "-1"),
        ("retention.bytes", "-99"),
        ("local.retention.ms", "-2"),
        ("compression.gzip.level", "-1"),
        ("compression.gzip.level", "9"),
        ("compression.zstd.level", "-131072"),
        ("compression.type", " gzip "),
        ("min.cleanable.dirty.ratio", "NaN"),
        ("min.cleanable.dirty.ratio", "-0.0"),
        ("cleanup.policy", ""),
        ("cleanup.policy", "compact , compact"),
        (THROTTLED, "*"),
        (THROTTLED, ",*,"),
        (THROTTLED, "0:1,,1:2\x01,"),
        (THROTTLED, "99999999999:00"),
        (VERSION, "3.0"),
        (VERSION, "2.8-IV1"),
        (VERSION, "2.8-IV1.whatever"),
        (VERSION, "0.10.0.1"),
        (VERSION, "0.8.2"),
        (VERSION, "4.0-IV1"),
    ],
)
def test_legal_values(name: str, text: str) -> None:
    assert name in validate_configs({name: text})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("retention.ms", "-2"),
        ("retention.ms", "1d"),
        ("local.retention.ms", "-3"),
        ("compression.gzip.level", "0"),
        ("compression.gzip.level", "10"),
        ("compression.lz4.level", "18"),
        ("compression.type", "GZIP"),
        ("compression.type", "none"),
        ("message.timestamp.type", "createtime"),
        ("min.cleanable.dirty.ratio", "1.0000000000000003"),
        ("min.cleanable.dirty.ratio", "Infinity"),
        ("min.insync.replicas", "0"),
        ("cleanup.policy", ","),
        ("cleanup.policy", "compact,"),
        ("cleanup.policy", "Compact"),
        (THROTTLED, "*,*"),
        (THROTTLED, "0:1,*"),
        (THROTTLED, "0: 1"),
        (THROTTLED, "٣:1"),
        (VERSION, ""),
        (VERSION, "3.0."),
        (VERSION, "0.10"),
        (VERSION, "4.0"),
        (VERSION, "3.0-IV9"),
        ("Retention.ms", "1"),
        (" retention.ms", "1"),
        ("internal.segment.bytes", "1"),
    ],
)
def test_illegal_values(name: str, text: str) -> None:
    with pytest.raises(InvalidConfiguration):
        validate_configs({name: text})


def test_a_refusal_says_what_is_allowed() -> None:
    with pytest.raises(InvalidConfiguration) as refusal:
        validate_configs({"compression.gzip.level": "12"})
    said = str(refusal.value)
    assert "compression.gzip.level=12" in said
    assert "[1,...,9] or -1" in said


def test_names_are_validated_before_values() -> None:
    with pytest.raises(InvalidConfiguration, match="unknown topic config 'nope'"):
        validate_configs({"retention.ms": "x", "nope": "1"})


def test_compaction_lags_are_compared_with_what_lies_underneath() -> None:
    validate_configs({"max.compaction.lag.ms": "5"})
    with pytest.raises(InvalidConfiguration, match="more than max"):
        validate_configs({"min.compaction.lag.ms": "6", "max.compaction.lag.ms": "5"})
    with pytest.raises(InvalidConfiguration, match="more than max"):
        validate_configs({"max.compaction.lag.ms": "5"}, underneath={"min.compaction.lag.ms": "6"})


def test_values_come_back_typed() -> None:
    values = validate_configs({"retention.ms": "+5", "cleanup.policy": "compact , delete"})
    assert values["retention.ms"] == 5
    assert values["cleanup.policy"] == ("compact", "delete")
    assert values["preallocate"] is False
