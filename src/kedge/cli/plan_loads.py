"""Where plans and jobs take loads from: Prometheus, tables of the pipeline, or the snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.options import say
from kedge.cli.prometheus_options import PrometheusOptions
from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from kedge.cli.goal_options import GoalOptions
    from kedge.metrics.parsing.cluster_metadata import ClusterMetadata
    from kedge.model import Snapshot

    MetadataReader = Callable[[], ClusterMetadata]


@dataclass(frozen=True)
class LoadOptions(PrometheusOptions):
    """The options that tell where loads come from, as typed."""

    loads: Annotated[
        Path | None, typer.Option("--loads", help="Loads from tables of `kedge pipeline ingest`")
    ] = None
    cluster: Annotated[
        str, typer.Option("--cluster", help="With --loads: the name of the cluster in the tables")
    ] = ""
    at: Annotated[
        str,
        typer.Option(
            "--at", help="Which load: p50, p95, max, mean; with --loads also ewma or forecast+7d"
        ),
    ] = "p95"
    metadata: Annotated[
        Path | None,
        typer.Option(help="With --prometheus: JSON with instance_to_broker, where hosts differ"),
    ] = None
    mapping: Annotated[
        Path | None,
        typer.Option(help="With --prometheus: series of other exporter rules, a TOML file"),
    ] = None

    @property
    def loads_given(self) -> bool:
        """Whether loads come from elsewhere than the snapshot."""
        return bool(self.prometheus) or self.loads is not None

    def check_loads(self) -> None:
        """Refuse what is wrong in the options themselves, before any request is sent."""
        if self.prometheus and self.loads is not None:
            raise InvalidRequest("loads from two places", hint="use --prometheus or --loads")
        if self.loads is not None:
            from kedge.pipeline.load_snapshots import parse_load_statistic

            parse_load_statistic(self.at)
        if self.prometheus:
            self._check_prometheus()

    def _check_prometheus(self) -> None:
        from kedge.cli.cluster_description import read_metadata, series_names
        from kedge.pipeline.live_loads import STATISTICS

        if self.at not in STATISTICS:
            hint = f"with --prometheus use {', '.join(STATISTICS)}"
            raise InvalidRequest(f"unknown load {self.at!r}", hint=hint)
        self.access()
        self.time_range()
        series_names(self.mapping)
        if self.metadata is not None:
            read_metadata(self.metadata)

    def loads_on(self, bare: Snapshot, live_metadata: MetadataReader) -> Snapshot:
        """A snapshot with the loads; `live_metadata` tells brokers and hosts where no file does."""
        if self.loads is not None:
            return self._with_tables(bare, self.loads)
        if self.prometheus:
            return self._with_prometheus(bare, live_metadata)
        return bare

    def _with_prometheus(self, bare: Snapshot, live_metadata: MetadataReader) -> Snapshot:
        from kedge.cli.cluster_description import read_metadata, series_names
        from kedge.cli.prometheus_options import note_unmeasured, note_warnings
        from kedge.pipeline.live_loads import snapshot_with_loads

        metadata = live_metadata() if self.metadata is None else read_metadata(self.metadata)
        names = series_names(self.mapping)
        with self.downloaded(names) as files:
            loaded = snapshot_with_loads(bare, metadata, files, names, self.at)
        note_warnings(loaded.warnings)
        note_unmeasured(loaded.unmeasured)
        rules = ", ".join(f"{count} by {rule}" for rule, count in sorted(loaded.rules.items()))
        say(
            f"loads ({self.at}) of {loaded.partitions} of {len(bare)} partitions from "
            f"{loaded.minutes} minutes of metrics: {rules}"
        )
        say(_cpu_sentence(loaded.cpu_fit, used=loaded.snapshot.cpu_model is not None))
        return loaded.snapshot

    def _with_tables(self, bare: Snapshot, tables: Path) -> Snapshot:
        from kedge.pipeline.load_snapshots import loads_on

        found = self._cluster_in(tables, bare.cluster_id or "")
        loaded, known = loads_on(bare, found)
        say(f"loads ({self.at}) of {known} of {len(bare)} partitions from {tables}")
        return _saying_cpu(loaded)

    def _cluster_in(self, tables: Path, cluster_id: str = "") -> Snapshot:
        """The cluster as tables have it."""
        from kedge.pipeline.load_snapshots import only_cluster, parse_load_statistic, snapshot_at

        name = self.cluster or cluster_id or only_cluster(tables)
        return snapshot_at(tables, name, parse_load_statistic(self.at))

    def planned_cluster(self, options: GoalOptions) -> Snapshot:
        """The snapshot that `kedge plan` plans, with loads."""
        self.check_loads()
        if self.loads is not None and options.snapshot is None and not options.bootstrap_server:
            return _saying_cpu(self._cluster_in(self.loads))
        return self.loads_on(options.cluster(), lambda: _live_metadata(options))


def _live_metadata(options: GoalOptions) -> ClusterMetadata:
    from kedge.cli.cluster_description import live_metadata

    if not options.bootstrap_server:
        hint = "a snapshot has no hosts of brokers: add --metadata FILE"
        raise InvalidRequest("which instance is which broker is not known", hint=hint)
    return live_metadata(options.bootstrap_server, options.command_config)


def _saying_cpu(loaded: Snapshot) -> Snapshot:
    if loaded.cpu_model is not None:
        say("cpu: balanced by the model that is fitted to the tables")
    return loaded


def _cpu_sentence(fit: float | None, *, used: bool) -> str:
    if fit is None:
        return "cpu: no data"
    explained = f"cpu: traffic explains {fit:.0%} of its variance"
    return f"{explained}; balanced by that model" if used else f"{explained}: too little, not used"
