from __future__ import annotations

import pytest

from kedge.errors import InvalidConfiguration
from kedge.topics import TieredRules, validate_configs, validate_tiered

ON = {"remote.storage.enable": "true"}
KRAFT = TieredRules(remote_storage=True, zookeeper=False)
NO_COPY = {**ON, "remote.log.copy.disable": "true"}


@pytest.mark.parametrize(
    "configs",
    [
        ON,
        {**ON, "retention.bytes": "-2", "local.retention.bytes": "5"},
        {**ON, "retention.bytes": "5", "local.retention.bytes": "5"},
        {**ON, "retention.ms": "-1", "local.retention.ms": "9"},
        {**NO_COPY, "retention.ms": "9", "local.retention.ms": "9"},
        {"cleanup.policy": "compact", "local.retention.ms": "99999999999"},
    ],
)
def test_what_goes_together(configs: dict[str, str]) -> None:
    validate_tiered(validate_configs(configs), KRAFT)


@pytest.mark.parametrize(
    ("configs", "why"),
    [
        ({**ON, "cleanup.policy": "delete,compact"}, "compacted"),
        ({**ON, "retention.bytes": "5", "local.retention.bytes": "6"}, "more than"),
        ({**ON, "retention.bytes": "5", "local.retention.bytes": "-1"}, "more than"),
        ({**ON, "retention.ms": "5", "local.retention.ms": "6"}, "more than"),
        ({**NO_COPY, "retention.ms": "9", "local.retention.ms": "8"}, "copying is disabled"),
        ({**NO_COPY, "local.retention.bytes": "8"}, "copying is disabled"),
    ],
)
def test_what_does_not(configs: dict[str, str], why: str) -> None:
    with pytest.raises(InvalidConfiguration, match=why):
        validate_tiered(validate_configs(configs), KRAFT)


@pytest.mark.parametrize("name", ["remote.log.copy.disable", "remote.log.delete.on.disable"])
def test_zookeeper_knows_neither_way_of_stopping(name: str) -> None:
    values = validate_configs({name: "true"})
    validate_tiered(values, KRAFT)
    with pytest.raises(InvalidConfiguration, match="ZooKeeper"):
        validate_tiered(values, TieredRules())


def test_a_cluster_without_remote_storage_refuses_it() -> None:
    with pytest.raises(InvalidConfiguration, match="no remote storage"):
        validate_tiered(validate_configs(ON), TieredRules())
