"""The options of commands that carry plans out, and what they make of them."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import (
    BootstrapOption,
    CommandConfigOption,
    DryRunOption,
    YesOption,
)
from kedge.cli.events import EventsOption
from kedge.cli.options import Output, OutputOption
from kedge.cli.prometheus_options import ServerOptions
from kedge.cli.run_options import (
    IgnoreHealthOption,
    NoThrottleOption,
    RunsAccess,
    SkipDriftedOption,
    SlotsOption,
    StateOption,
    TakeOverOption,
    ThrottleOption,
    acting_on_runs,
)
from kedge.cli.steering_options import SteeringOptions, steering_of
from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from kedge.apply import RunOptions, RunStore
    from kedge.cli.carry_out import MoreSignals, Watching
    from kedge.cluster.port import Cluster
    from kedge.execution import Limits, RateRange, RunRecord, Steering

INTERVAL_S = 1.0


@dataclass(frozen=True)
class LimitOptions:
    """How fast a plan is carried out, and what may be left out or ignored."""

    throttle: ThrottleOption = ""
    no_throttle: NoThrottleOption = False
    moves_per_broker: SlotsOption = 2
    skip_drifted: SkipDriftedOption = False
    ignore_health: IgnoreHealthOption = False

    def limits(self) -> tuple[Limits, RateRange | None]:
        """The limits, and the range that the throttle adapts in, if it does."""
        from kedge.execution import Limits
        from kedge.execution.adaptive_throttle import parse_throttle

        if bool(self.throttle) == self.no_throttle:
            both = "Both --throttle and --no-throttle are given"
            raise InvalidRequest(
                both if self.throttle else "No throttle given",
                hint="use --throttle 50MB (per second) or --no-throttle",
            )
        if self.no_throttle:
            return Limits(None, self.moves_per_broker), None
        rate, adaptive = parse_throttle(self.throttle, "--throttle")
        return Limits(rate, self.moves_per_broker), adaptive


@dataclass(frozen=True)
class ApplyOptions(ServerOptions, SteeringOptions, LimitOptions):
    """All options of `kedge apply`; `resume`, `rollback` and the jobs have most of them."""

    prometheus: Annotated[
        str,
        typer.Option(
            "--prometheus",
            help="With --throttle auto: URL of a Prometheus that has the request times of brokers",
        ),
    ] = ""
    dry_run: DryRunOption = False
    yes: YesOption = False
    interval: Annotated[
        float | None,
        typer.Option("--interval", min=0.05, help="Seconds between two reads of the cluster"),
    ] = None
    events: EventsOption = ""
    state: StateOption = None
    take_over: TakeOverOption = False
    bootstrap_server: BootstrapOption = ""
    command_config: CommandConfigOption = None
    output: OutputOption = Output.TABLE

    def acting(self, *, begins: bool = False) -> AbstractContextManager[tuple[Cluster, RunStore]]:
        """The runs of the cluster, locked for this command; `begins` where it starts a run."""
        access = RunsAccess(
            self.bootstrap_server,
            self.command_config,
            self.state,
            begins=begins,
            take_over=self.take_over,
        )
        return acting_on_runs(access, dry_run=self.dry_run)

    def run_options(self) -> RunOptions:
        """The limits and exceptions of a new run."""
        limits, adaptive = self.limits()
        return self._with(limits, steering_of(self, adaptive))

    def options_to_continue(self, runs: RunStore, run_id: str | None) -> RunOptions:
        """The limits of the run that continues, and how it was steered, unless others are given."""
        run = runs.chosen(run_id)
        record = (runs.rollback_of(run) or run).record()
        return self._taken_over(record, record.steering)

    def options_to_undo(self, runs: RunStore, run_id: str | None) -> RunOptions:
        """The throttle of the run that is undone, unless another is given; its windows are not
        those of the way back. A rollback that has begun continues as it was steered."""
        from kedge.execution import Steering

        run = runs.chosen(run_id)
        if runs.rollback_of(run) is not None:
            return self.options_to_continue(runs, run_id)
        record = run.record()
        return self._taken_over(record, Steering(log_dir_rate=record.steering.log_dir_rate))

    def _taken_over(self, record: RunRecord, base: Steering) -> RunOptions:
        from kedge.execution import Limits

        rate, adaptive = record.rate, record.steering.adaptive
        if self.throttle or self.no_throttle:
            limits, adaptive = self.limits()
            rate = limits.rate
        return self._with(Limits(rate, record.each_way), steering_of(self, adaptive, base))

    def _with(self, limits: Limits, steering: Steering) -> RunOptions:
        from kedge.apply import RunOptions

        self.check_server(steering)
        return RunOptions(limits, self.skip_drifted, self.ignore_health, steering)

    def check_server(self, steering: Steering) -> None:
        """Refuse a server that nothing would be read from."""
        if self.prometheus and steering.adaptive is None:
            raise InvalidRequest(
                "--prometheus needs a throttle that adapts", hint="use --throttle auto"
            )

    @property
    def reads_times(self) -> bool:
        """Whether the throttle heeds the request times that Prometheus has."""
        return bool(self.prometheus)

    @contextmanager
    def more_signals(self) -> Generator[MoreSignals | None]:
        """What Prometheus reports of brokers, for a throttle that adapts."""
        if not self.reads_times:
            yield None
            return
        from kedge.pipeline.sources.broker_times import PrometheusTimes
        from kedge.pipeline.sources.prometheus_api import PrometheusApi

        api = PrometheusApi(self.access(), time.sleep)
        with PrometheusTimes(api, self.prometheus_match).refreshed() as times:
            yield times.added_to

    def interval_s(self, partitions: int) -> float:
        """Seconds between two reads of the cluster, for a plan of so many partitions."""
        del partitions  # for a job they decide
        return INTERVAL_S if self.interval is None else self.interval

    def watching(
        self,
        partitions: int,
        predicted_s: float | None = None,
        more_signals: MoreSignals | None = None,
    ) -> Watching:
        """How the run is observed and shown."""
        from kedge.cli.carry_out import Watching

        interval_s = self.interval_s(partitions)
        return Watching(interval_s, self.events, self.output, predicted_s, more_signals)
