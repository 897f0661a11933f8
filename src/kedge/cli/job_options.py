"""The options of jobs: how a plan is carried out, with defaults that fit most clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import DryRunOption, YesOption
from kedge.cli.events import EventsOption
from kedge.cli.goal_options import GoalOptions
from kedge.cli.options import Output, OutputOption
from kedge.cli.run_options import (
    IgnoreHealthOption,
    NoThrottleOption,
    SlotsOption,
    StateOption,
    run_options,
)
from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from kedge.apply import RunOptions
    from kedge.balance import Goals
    from kedge.cli.carry_out import Watching
    from kedge.model import BrokerId

DEFAULT_THROTTLE = "50MB"
SMALL_PLAN = 1_000  # partitions
SHORT_INTERVAL_S, INTERVAL_S = 0.25, 1.0
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


@dataclass(frozen=True, slots=True)
class JobOptions:
    """The options, as typed."""

    throttle: Annotated[
        str,
        typer.Option(
            help=f"Bytes per second in and out of each broker; {DEFAULT_THROTTLE} if not given"
        ),
    ] = ""
    no_throttle: NoThrottleOption = False
    moves_per_broker: SlotsOption = 2
    ignore_health: IgnoreHealthOption = False
    dry_run: DryRunOption = False
    yes: YesOption = False
    interval: Annotated[
        float | None,
        typer.Option(
            min=0.05, help="Seconds between two reads of the cluster; by the size of the plan"
        ),
    ] = None
    state: StateOption = None
    events: EventsOption = ""
    output: OutputOption = Output.TABLE

    def run_options(self) -> RunOptions:
        """The limits and exceptions of the run."""
        throttle = self.throttle or ("" if self.no_throttle else DEFAULT_THROTTLE)
        return run_options(
            throttle, self.no_throttle, self.moves_per_broker, False, self.ignore_health
        )

    def interval_s(self, partitions: int) -> float:
        """Seconds between two reads: a small plan is read fast, and its moves may be short."""
        if self.interval is not None:
            return self.interval
        return SHORT_INTERVAL_S if partitions <= SMALL_PLAN else INTERVAL_S

    def watching(self, partitions: int, predicted_s: float | None = None) -> Watching:
        """How the run is shown."""
        from kedge.cli.carry_out import Watching

        return Watching(self.interval_s(partitions), self.events, self.output, predicted_s)

    def goals(self, options: GoalOptions) -> Goals:
        """The goals of a plan that is carried out with these options."""
        return replace(
            options,
            throttle=self.throttle or DEFAULT_THROTTLE,
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
