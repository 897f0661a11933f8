from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kedge.errors import (
    DuplicateInRequest,
    InvalidConfiguration,
    InvalidRequest,
    KedgeError,
    PolicyViolation,
    UnknownTopicOrPartition,
)
from kedge.topics import (
    Alteration,
    AlterProposal,
    NewConfigs,
    Op,
    Source,
    TieredRules,
    describe_topic,
    validate_alter,
    validate_replace,
)
from tests.topics.clusters import topic, view

STORED = {"retention.ms": "5", "min.compaction.lag.ms": "9"}
CLUSTER = replace(
    view({"t": topic([0]), "old": topic([0])}), configs={"t": STORED, "old": {"gone": "1"}}
)


def never(proposal: object, /) -> None:
    raise PolicyViolation("no")


def test_steps_are_merged_into_what_is_stored() -> None:
    steps = [Alteration("retention.ms", Op.DELETE), Alteration("preallocate", Op.SET, "true")]
    answer = validate_alter("t", steps, CLUSTER)
    assert answer == NewConfigs("t", {"min.compaction.lag.ms": "9", "preallocate": "true"})
    assert STORED == {"retention.ms": "5", "min.compaction.lag.ms": "9"}


def test_the_last_override_may_go() -> None:
    steps = [Alteration(name, Op.DELETE) for name in STORED]
    assert validate_alter("t", steps, CLUSTER).configs == {}


def test_the_whole_result_is_validated() -> None:
    with pytest.raises(InvalidConfiguration, match=r"min\.compaction"):
        validate_alter("t", [Alteration("max.compaction.lag.ms", Op.SET, "8")], CLUSTER)
    with pytest.raises(InvalidConfiguration, match="'gone'"):
        validate_alter("old", [Alteration("retention.ms", Op.SET, "1")], CLUSTER)
    assert validate_alter("old", [Alteration("gone", Op.DELETE)], CLUSTER).configs == {}


BAD = Alteration("retention.ms", Op.SET, "x")


@pytest.mark.parametrize(
    ("name", "steps", "error"),
    [
        ("", [BAD, BAD], InvalidRequest),
        ("absent", [BAD, BAD], DuplicateInRequest),
        ("absent", [Alteration("retention.ms")], InvalidRequest),
        ("absent", [Alteration("retention.ms", Op.APPEND, "1")], InvalidConfiguration),
        ("absent", [BAD], UnknownTopicOrPartition),
        ("t", [BAD], InvalidConfiguration),
        ("t", [Alteration("retention.ms", Op.SET, "1")], PolicyViolation),
    ],
)
def test_refusals_in_order(name: str, steps: Sequence[Alteration], error: type[KedgeError]) -> None:
    with pytest.raises(KedgeError) as refusal:
        validate_alter(name, steps, CLUSTER, policy=never)
    assert type(refusal.value) is error


def test_a_policy_sees_the_request_and_not_the_result() -> None:
    seen: list[AlterProposal] = []
    steps = [
        Alteration("retention.ms", Op.DELETE, "ignored"),
        Alteration("cleanup.policy", Op.APPEND, "compact"),
    ]
    validate_alter("t", steps, CLUSTER, policy=seen.append)
    assert seen == [AlterProposal("t", {"retention.ms": None, "cleanup.policy": "compact"})]


def test_replacing_forgets_what_was_stored() -> None:
    assert validate_replace("t", {"flush.ms": "1"}, CLUSTER) == NewConfigs("t", {"flush.ms": "1"})
    with pytest.raises(UnknownTopicOrPartition):
        validate_replace("absent", {"flush.ms": "1"}, CLUSTER)


def test_remote_storage_is_not_turned_off_by_the_way() -> None:
    cluster = replace(
        CLUSTER,
        configs={"t": {"remote.storage.enable": "TRUE"}},
        tiered=TieredRules(remote_storage=True, zookeeper=False),
    )
    off = Alteration("remote.storage.enable", Op.SET, "false")
    with pytest.raises(InvalidConfiguration, match="giving up"):
        validate_alter("t", [off], cluster)
    drop = Alteration("remote.log.delete.on.disable", Op.SET, "true")
    assert validate_alter("t", [off, drop], cluster)


def test_a_topic_is_described_with_its_overrides() -> None:
    found = {config.name: config for config in describe_topic("t", CLUSTER)}
    assert (found["retention.ms"].value, found["retention.ms"].source) == ("5", Source.TOPIC)
    assert found["flush.ms"].is_default
    with pytest.raises(UnknownTopicOrPartition):
        describe_topic("absent", CLUSTER)
