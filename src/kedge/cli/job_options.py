"""The options of jobs: how a plan is carried out, with defaults that fit most clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Self

import typer

from kedge.cli.apply_options import ApplyOptions
from kedge.cli.goal_options import GoalOptions
from kedge.cli.options import note
from kedge.cli.plan_loads import LoadOptions
from kedge.errors import InvalidRequest, KedgeError

if TYPE_CHECKING:
    from kedge.balance import Goals
    from kedge.cluster.port import Cluster
    from kedge.execution import Steering
    from kedge.metrics.parsing.cluster_metadata import ClusterMetadata
    from kedge.model import BrokerId, Snapshot

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

    def with_throttle(self) -> Self:
        """The options, with the usual throttle unless another one or none is wanted."""
        if self.throttle or self.no_throttle:
            return self
        return replace(self, throttle=DEFAULT_THROTTLE)

    def interval_s(self, partitions: int) -> float:
        """Seconds between two reads: a small plan is read fast, and its moves may be short."""
        if self.interval is None and partitions <= SMALL_PLAN:
            return SHORT_INTERVAL_S
        return super().interval_s(partitions)


@dataclass(frozen=True)
class PlannedJobOptions(JobOptions, LoadOptions):
    """The options of jobs that make a plan: those of `kedge apply`, and where loads come from."""

    prometheus: Annotated[
        str,
        typer.Option(
            "--prometheus",
            help="URL of a Prometheus: loads of partitions, and with --throttle auto request times",
        ),
    ] = ""

    @property
    def adapts(self) -> bool:
        """Whether the throttle adapts."""
        return bool(self.throttle) and self.limits()[1] is not None

    def check_server(self, steering: Steering) -> None:
        """A plan has loads from the server, whatever the throttle is."""

    @property
    def reads_times(self) -> bool:
        """Whether the throttle heeds the request times that Prometheus has."""
        return bool(self.prometheus) and self.adapts

    def load_source(self) -> LoadOptions:
        """Where loads come from, checked. A server beside tables is that of the throttle."""
        of_throttle = self.adapts and self.loads is not None
        source = replace(self, prometheus="") if of_throttle else self
        source.check_loads()
        return source

    def loaded(self, bare: Snapshot, cluster: Cluster) -> Snapshot:
        """A snapshot with the loads that were asked for.

        Where Prometheus serves a throttle that adapts too, a job does not depend on its loads.
        """

        def live_metadata() -> ClusterMetadata:
            from kedge.pipeline.live_loads import metadata_of

            described = cluster.describe()
            return metadata_of(described.cluster_id, described.brokers)

        source = self.load_source()
        try:
            return source.loads_on(bare, live_metadata)
        except KedgeError as fault:
            if not (self.adapts and source.prometheus):
                raise
            note(f"no loads from Prometheus ({fault}): planned without traffic")
            return bare

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
