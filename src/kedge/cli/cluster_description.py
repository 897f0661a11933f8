"""What sources of metrics need to know of a cluster: from files, or from the live cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kedge.cli.connection import connected
from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from kedge.metrics.parsing.cluster_metadata import ClusterMetadata, LeaderHistory
    from kedge.metrics.parsing.series_names import SeriesNames


def described_cluster(
    kind: str,
    metadata: Path | None,
    leaders: Path | None,
    bootstrap_server: str,
    command_config: Path | None,
) -> tuple[ClusterMetadata, LeaderHistory]:
    """The cluster and its leaders, from files or from the live cluster."""
    if metadata is not None:
        return read_metadata(metadata), read_leaders(leaders)
    if not bootstrap_server:
        hint = "a JSON file with cluster, brokers and instance_to_broker, or --bootstrap-server"
        raise InvalidRequest(f"the source {kind} needs --metadata", hint=hint)
    described, history = live_description(bootstrap_server, command_config)
    return described, read_leaders(leaders) or history


def live_description(
    bootstrap_server: str, command_config: Path | None
) -> tuple[ClusterMetadata, LeaderHistory]:
    """The brokers of a live cluster, and its leaders, replicas and ISR now."""
    import time

    from kedge.pipeline.described_cluster import history_of, known_topics, metadata_with_replicas

    with connected(bootstrap_server, command_config) as cluster:
        described, topics = cluster.describe(), known_topics(cluster)
    history = history_of(topics, int(time.time() * 1000))
    return metadata_with_replicas(described, topics), history


def live_metadata(bootstrap_server: str, command_config: Path | None) -> ClusterMetadata:
    """The brokers of a live cluster with the hosts of their listeners."""
    from kedge.pipeline.live_loads import metadata_of

    with connected(bootstrap_server, command_config) as cluster:
        described = cluster.describe()
        return metadata_of(described.cluster_id, described.brokers)


def series_names(mapping: Path | None) -> SeriesNames:
    """The names of known exporters, and those of a mapping file."""
    from kedge.pipeline.sources.mapping_files import read_series_names

    return read_series_names(mapping)


def read_metadata(path: Path) -> ClusterMetadata:
    """The metadata in a file."""
    from kedge.files import read_bytes, with_path_context
    from kedge.metrics.parsing.cluster_metadata import parse_metadata

    data = read_bytes(path)
    with with_path_context(path):
        return parse_metadata(data)


def read_leaders(path: Path | None) -> LeaderHistory:
    """Leaders over time in a file; none without one."""
    from kedge.files import read_bytes, with_path_context
    from kedge.metrics.parsing.cluster_metadata import parse_leaders

    if path is None:
        return ()
    data = read_bytes(path)
    with with_path_context(path):
        return parse_leaders(data)
