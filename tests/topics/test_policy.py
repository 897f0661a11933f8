from __future__ import annotations

import re

import pytest

from kedge.errors import PolicyViolation
from kedge.topics import AlterProposal, CreateProposal, FrozenConfigs, Limits, all_of, allow
from tests.topics.clusters import ids

COUNTS = CreateProposal("team.orders", 10, 3, None, {})
BY_HAND = CreateProposal("team.orders", None, None, {0: ids(1, 2), 1: ids(2, 3)}, {})

LIMITS = Limits(
    partitions_max=10,
    replication_factor_min=2,
    replication_factor_max=3,
    name_pattern=re.compile(r"[a-z]+\.[a-z]+"),
)


@pytest.mark.parametrize("proposal", [COUNTS, BY_HAND])
def test_within_the_limits(proposal: CreateProposal) -> None:
    LIMITS(proposal)
    Limits()(proposal)
    allow(proposal)


@pytest.mark.parametrize(
    ("limits", "proposal", "why"),
    [
        (Limits(partitions_max=9), COUNTS, "10 partitions"),
        (Limits(partitions_max=1), BY_HAND, "2 partitions"),
        (Limits(replication_factor_min=4), COUNTS, "3 replicas"),
        (Limits(replication_factor_min=3), BY_HAND, "2 replicas"),
        (Limits(replication_factor_max=2), COUNTS, "3 replicas"),
        (Limits(name_pattern="team"), COUNTS, "does not match team"),
    ],
)
def test_beyond_them(limits: Limits, proposal: CreateProposal, why: str) -> None:
    with pytest.raises(PolicyViolation, match=why):
        limits(proposal)


def test_of_several_policies_the_first_no_counts() -> None:
    asked: list[str] = []

    def note(proposal: CreateProposal, /) -> None:
        asked.append(proposal.topic)

    with pytest.raises(PolicyViolation, match="10 partitions"):
        all_of(note, Limits(partitions_max=9), note, Limits(name_pattern="x"))(COUNTS)
    assert asked == ["team.orders"]
    all_of()(COUNTS)


def test_frozen_configs_can_neither_be_set_nor_deleted() -> None:
    frozen = FrozenConfigs(frozenset({"min.insync.replicas", "cleanup.policy"}))
    frozen(AlterProposal("t", {"retention.ms": "1"}))
    for value in ("2", None):
        with pytest.raises(PolicyViolation, match=r"min\.insync\.replicas of t"):
            frozen(AlterProposal("t", {"min.insync.replicas": value}))
