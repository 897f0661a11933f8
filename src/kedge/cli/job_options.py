"""The options of jobs: how a plan is carried out, with defaults that fit most clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.apply_options import ApplyOptions
from kedge.cli.goal_options import GoalOptions
from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from kedge.balance import Goals
    from kedge.model import BrokerId

DEFAULT_THROTTLE = "50MB"
SMALL_PLAN = 1_000  # partitions
SHORT_INTERVAL_S = 0.25
MANDATORY_ONLY = "1"  # a tolerance at which nothing moves but what must

# Options of `kedge plan` that a job sets itself, or that the options of its run replace.
SET_BY_JOBS = (
    "snapshot",
    "remove_brokers",
    "add_brokers",
    "replication_factor",
    "throttle",
    "moves_at_once",
)


@dataclass(frozen=True)
class JobOptions(ApplyOptions):
    """The options of `kedge apply`, as typed."""

    throttle: Annotated[
        str,
        typer.Option(
            "--throttle",
            help="Bytes per second in and out of each broker, or auto:10MB-100MB, which adapts; "
            f"{DEFAULT_THROTTLE} if not given",
        ),
    ] = ""
    interval: Annotated[
        float | None,
        typer.Option(
            min=0.05, help="Seconds between two reads of the cluster; by the size of the plan"
        ),
    ] = None

    def with_throttle(self) -> JobOptions:
        """The options, with the usual throttle unless another one or none is wanted."""
        if self.throttle or self.no_throttle:
            return self
        return replace(self, throttle=DEFAULT_THROTTLE)

    def interval_s(self, partitions: int) -> float:
        """Seconds between two reads: a small plan is read fast, and its moves may be short."""
        if self.interval is None and partitions <= SMALL_PLAN:
            return SHORT_INTERVAL_S
        return super().interval_s(partitions)

    def goals(self, options: GoalOptions) -> Goals:
        """The goals of a plan that is carried out with these options."""
        limits, _ = self.with_throttle().limits()
        return replace(
            options,
            throttle=DEFAULT_THROTTLE if limits.rate is None else str(limits.rate),
            moves_at_once=self.moves_per_broker,
        ).goals()


def parse_broker_ids(words: list[str]) -> tuple[BrokerId, ...]:
    """Broker ids, separated by blanks or commas."""
    from kedge.cli.parse_brokers import parse_brokers

    found = parse_brokers(",".join(words), place="broker")
    for broker in found:
        if broker.rack is not None:
            raise InvalidRequest(
                f"broker {broker.id}:{broker.rack}: the cluster knows the rack",
                hint=f"write {broker.id}",
            )
    return tuple(broker.id for broker in found)


def parse_factors(words: list[str]) -> dict[str, int]:
    """Replication factors by topic, or by pattern of topics: `orders=3`."""
    factors: dict[str, int] = {}
    for word in words:
        name, equals, number = word.rpartition("=")
        if not (equals and name and number.isascii() and number.isdigit() and len(number) <= 5):
            raise InvalidRequest(f"{word!r} is not TOPIC=N", hint="write orders=3")
        if factors.setdefault(name, int(number)) != int(number):
            raise InvalidRequest(f"{name} is given two replication factors", hint="keep one")
    return factors
