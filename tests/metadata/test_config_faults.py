"""Kafka's words about configs that cannot be."""

from __future__ import annotations

import pytest

from kedge.metadata.client_config_faults import validate_client_metrics, validate_group_configs
from kedge.metadata.config_faults import validate_topic_configs
from kedge.metadata.refusal import Refused
from kedge.model.error_codes import ErrorCode

REMOTE = {"remote.storage.enable": "true"}


def topic_fault(
    configs: dict[str, str], existing: dict[str, str] | None = None, *, remote: bool = True
) -> str | None:
    try:
        validate_topic_configs(configs, existing=existing or {}, static={}, remote_storage=remote)
    except Refused as refused:
        return refused.error.message
    return None


@pytest.mark.parametrize(
    ("configs", "fault"),
    [
        ({"segment.bytes": "1"}, "Value must be at least 1048576"),
        ({"min.cleanable.dirty.ratio": "1.5"}, "Value must be no more than 1"),
        ({"compression.gzip.level": "0"}, "Value must be between 1 and 9 or equal to -1"),
        ({"cleanup.policy": "delete,odd"}, "String must be one of: compact, delete"),
        ({"compression.type": "odd"}, "Invalid value odd for configuration compression.type"),
        ({"preallocate": "yes"}, "Expected value to be either true or false"),
        ({"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"}, r"\(9\) > max.compac"),
        ({**REMOTE, "cleanup.policy": "compact"}, "only supports topics with cleanup.policy"),
        ({**REMOTE, "local.retention.ms": "-1"}, "Value must not be -1 as retention.ms"),
        ({**REMOTE, "local.retention.ms": "700000000"}, "Value must not be more than retention"),
        ({**REMOTE, "retention.bytes": "5", "local.retention.bytes": "6"}, "property value: 5"),
        (
            {**REMOTE, "remote.log.copy.disable": "true", "local.retention.ms": "5"},
            "`local.retention.ms` and `retention.ms` must be set to the identical value",
        ),
    ],
    ids=str,
)
def test_a_topic_config_is_refused(configs: dict[str, str], fault: str) -> None:
    with pytest.raises(Refused, match=fault) as refused:
        validate_topic_configs(configs, existing={}, static={}, remote_storage=True)
    assert refused.value.error.code is ErrorCode.INVALID_CONFIG


def test_topics_may_use_remote_storage_where_brokers_have_it() -> None:
    assert topic_fault(REMOTE) is None
    assert "Tiered Storage functionality is disabled" in (topic_fault(REMOTE, remote=False) or "")


def test_remote_storage_is_given_up_only_with_what_is_stored_there() -> None:
    assert "without deleting remote data" in (topic_fault({}, REMOTE) or "")
    assert topic_fault({"remote.log.delete.on.disable": "true"}, REMOTE) is None


@pytest.mark.parametrize(
    ("configs", "fault"),
    [
        ({"odd": "1"}, "Unknown group config name: odd"),
        ({"consumer.session.timeout.ms": "0"}, "Value must be at least 1"),
        ({"consumer.session.timeout.ms": "1"}, "or equal to group.consumer.min.session.timeout.ms"),
        ({"share.heartbeat.interval.ms": "15001"}, "group.share.max.heartbeat.interval.ms"),
        ({"share.isolation.level": "odd"}, "String must be one of: read_committed"),
        ({"share.auto.offset.reset": "odd"}, "either 'earliest', 'latest' or of the format"),
    ],
    ids=str,
)
def test_a_group_config_is_refused(configs: dict[str, str], fault: str) -> None:
    with pytest.raises(Refused, match=fault):
        validate_group_configs(configs)


@pytest.mark.parametrize(
    ("name", "configs", "fault"),
    [
        ("", {}, "Subscription name can't be empty"),
        ("m", {"odd": "1"}, "Unknown client metrics configuration: odd"),
        ("m", {"interval.ms": "99"}, "interval must be between 100 and 3600000"),
        ("m", {"match": "client_id"}, "Illegal client matching pattern: client_id"),
        ("m", {"match": "odd=1"}, "Illegal client matching pattern: odd=1"),
        ("m", {"match": "client_id=["}, "Illegal client matching pattern"),
    ],
)
def test_a_subscription_is_refused(name: str, configs: dict[str, str], fault: str) -> None:
    with pytest.raises(Refused, match=fault):
        validate_client_metrics(name, configs)


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("earliest", True),
        ("LATEST", False),
        ("by_duration", False),
        ("by_duration:P1D", True),
        ("by_duration:pt1h30m", True),
        ("by_duration:PT0.5S", True),
        ("by_duration:-PT1H", False),
        ("by_duration:P-1D", False),
        ("by_duration:P1DT", False),
        ("by_duration:P", False),
        ("by_duration:1", False),
    ],
)
def test_where_share_groups_may_start(text: str, good: bool) -> None:
    if good:
        validate_group_configs({"share.auto.offset.reset": text})
    else:
        with pytest.raises(Refused):
            validate_group_configs({"share.auto.offset.reset": text})


def test_what_kafka_takes_is_taken() -> None:
    validate_group_configs({"consumer.session.timeout.ms": "45001"})
    validate_client_metrics("m", {"interval.ms": "100", "match": "client_id=a.*", "metrics": "*"})
    assert topic_fault({"retention.ms": " +5 ", "cleanup.policy": "compact, delete"}) is None
