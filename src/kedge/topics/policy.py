"""Policies of the operator: functions that check a change last and may refuse it.

Kafka has the same hooks as classes that brokers load (KIP-108, KIP-133). A policy here is any
function that takes a proposal and raises PolicyViolation; `all_of` makes one of several, and
`Limits` is a ready one.

    validate_create(request, view, draw=draw, policy=all_of(Limits(partitions_max=100), no_compact))
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from kedge.errors import PolicyViolation
from kedge.model import BrokerId


@dataclass(frozen=True, slots=True)
class CreateProposal:
    """A topic about to be created.

    Counts are as resolved, and `assignments` is None; or replicas were placed by hand, and then
    the counts are None. `configs` are only those of the request.
    """

    topic: str
    partitions: int | None
    replication_factor: int | None
    assignments: Mapping[int, tuple[BrokerId, ...]] | None
    configs: Mapping[str, str]

    @property
    def partition_count(self) -> int:
        """The number of partitions, given by count or by replica lists."""
        return len(self.assignments) if self.assignments is not None else self.partitions or 0

    @property
    def replicas_least(self) -> int:
        """The fewest replicas that any partition gets."""
        if self.assignments is None:
            return self.replication_factor or 0
        return min(map(len, self.assignments.values()), default=0)


@dataclass(frozen=True, slots=True)
class AlterProposal:
    """Configs about to change, as the request has them: None for a config to be deleted."""

    topic: str
    configs: Mapping[str, str | None]


P = TypeVar("P", contravariant=True)


class Policy(Protocol[P]):
    """Refuses a proposal by raising PolicyViolation."""

    def __call__(self, proposal: P, /) -> None: ...


class CreatePolicy(Policy[CreateProposal], Protocol):
    """A policy on new topics."""


class AlterPolicy(Policy[AlterProposal], Protocol):
    """A policy on changed configs."""


def allow(proposal: object, /) -> None:
    """The policy that refuses nothing."""


def all_of(*policies: Policy[P]) -> Policy[P]:
    """A policy of several others; the first refusal is raised."""

    def check(proposal: P, /) -> None:
        for policy in policies:
            policy(proposal)

    return check


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds for new topics; None where there is none. The pattern must match the whole name."""

    partitions_max: int | None = None
    replication_factor_min: int | None = None
    replication_factor_max: int | None = None
    name_pattern: re.Pattern[str] | str | None = None

    def __call__(self, proposal: CreateProposal, /) -> None:
        topic, count = proposal.topic, proposal.partition_count
        if self.name_pattern is not None and not re.fullmatch(self.name_pattern, topic):
            raise PolicyViolation(f"topic name {topic!r} does not match {self._pattern()}")
        if self.partitions_max is not None and count > self.partitions_max:
            raise PolicyViolation(
                f"topic {topic} has {count} partitions", hint=f"at most {self.partitions_max}"
            )
        self._validate_replicas(topic, proposal)

    def _validate_replicas(self, topic: str, proposal: CreateProposal) -> None:
        least, low, high = (
            proposal.replicas_least,
            self.replication_factor_min,
            self.replication_factor_max,
        )
        if (low is not None and least < low) or (high is not None and least > high):
            raise PolicyViolation(
                f"topic {topic} has {least} replicas",
                hint=f"between {low or 1} and {high or 'any number'}",
            )

    def _pattern(self) -> str:
        pattern = self.name_pattern
        return pattern.pattern if isinstance(pattern, re.Pattern) else str(pattern)


@dataclass(frozen=True, slots=True)
class FrozenConfigs:
    """A policy that refuses changes of certain configs."""

    names: frozenset[str]

    def __call__(self, proposal: AlterProposal, /) -> None:
        if touched := sorted(self.names & set(proposal.configs)):
            raise PolicyViolation(f"{', '.join(touched)} of {proposal.topic} may not be changed")
