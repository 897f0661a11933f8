"""Where `kedge plan` takes loads from: Prometheus, tables of the pipeline, or the snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.cli.options import say
from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from kedge.cli.goal_options import GoalOptions
    from kedge.cli.prometheus_options import PrometheusOptions
    from kedge.metrics.parsing.cluster_metadata import ClusterMetadata
    from kedge.model import Snapshot


@dataclass(frozen=True, slots=True)
class LoadSource:
    """The options that tell where loads come from, as typed."""

    server: PrometheusOptions
    tables: Path | None
    cluster_name: str
    at: str
    metadata: Path | None = None

    @property
    def given(self) -> bool:
        """Whether loads come from elsewhere than the snapshot."""
        return bool(self.server.prometheus) or self.tables is not None

    def cluster(self, options: GoalOptions) -> Snapshot:
        """The snapshot to plan, with loads."""
        if self.server.prometheus and self.tables is not None:
            raise InvalidRequest("loads from two places", hint="use --prometheus or --loads")
        if self.tables is not None:
            return self._with_tables(options, self.tables)
        if self.server.prometheus:
            return self._with_prometheus(options)
        return options.cluster()

    def _with_prometheus(self, options: GoalOptions) -> Snapshot:
        from kedge.metrics.parsing.series_names import ExporterNames
        from kedge.pipeline.live_loads import STATISTICS, snapshot_with_loads

        if self.at not in STATISTICS:
            hint = f"with --prometheus use {', '.join(STATISTICS)}"
            raise InvalidRequest(f"unknown load {self.at!r}", hint=hint)
        self.server.access()
        metadata = self._metadata(options)
        bare, names = options.cluster(), ExporterNames()
        with self.server.downloaded(names) as files:
            loaded = snapshot_with_loads(bare, metadata, files, names, self.at)
        rules = ", ".join(f"{count} by {rule}" for rule, count in sorted(loaded.rules.items()))
        say(
            f"loads ({self.at}) of {loaded.partitions} of {len(bare)} partitions from "
            f"{loaded.minutes} minutes of metrics: {rules}"
        )
        say(_cpu_sentence(loaded.cpu_fit, used=loaded.snapshot.cpu_model is not None))
        return loaded.snapshot

    def _metadata(self, options: GoalOptions) -> ClusterMetadata:
        """Brokers and instances, from a file or from the live cluster."""
        from kedge.cli.cluster_description import live_metadata, read_metadata

        if self.metadata is not None:
            return read_metadata(self.metadata)
        if not options.bootstrap_server:
            hint = "a snapshot has no hosts of brokers: add --metadata FILE"
            raise InvalidRequest("which instance is which broker is not known", hint=hint)
        return live_metadata(options.bootstrap_server, options.command_config)

    def _with_tables(self, options: GoalOptions, tables: Path) -> Snapshot:
        from kedge.pipeline.load_snapshots import (
            loads_on,
            only_cluster,
            parse_load_statistic,
            snapshot_at,
        )

        statistic = parse_load_statistic(self.at)
        if options.snapshot is None and not options.bootstrap_server:
            return snapshot_at(tables, self.cluster_name or only_cluster(tables), statistic)
        bare = options.cluster()
        name = self.cluster_name or bare.cluster_id or only_cluster(tables)
        loaded, known = loads_on(bare, snapshot_at(tables, name, statistic))
        say(f"loads ({self.at}) of {known} of {len(bare)} partitions from {tables}")
        return loaded


def _cpu_sentence(fit: float | None, *, used: bool) -> str:
    if fit is None:
        return "cpu: no data"
    explained = f"cpu: traffic explains {fit:.0%} of its variance"
    return f"{explained}; balanced by that model" if used else f"{explained}: too little, not used"
