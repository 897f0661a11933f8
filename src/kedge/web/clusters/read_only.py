"""The cluster port of a read-only server: every call that is not a read is refused."""

from __future__ import annotations

from typing import Any, cast

from kedge.cluster.port import Cluster
from kedge.errors import PermissionDenied

# an allow-list: a call that is added to the port is refused until it is known to change nothing
READS = frozenset(
    {
        "describe",
        "round_trips",
        "topic_names",
        "describe_topics",
        "describe_configs",
        "config_names",
        "describe_quotas",
        "reassignments",
        "authorize_reassignments",
        "log_dirs",
        "keeps_registrations",
        "close",
    }
)


class ReadOnlyCluster:
    """Passes reads on to a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def __getattr__(self, name: str) -> Any:
        """A read of the port."""
        if name not in READS:
            raise read_only_error()
        return getattr(self._cluster, name)


def read_only(cluster: Cluster) -> Cluster:
    """The same cluster without its changes."""
    return cast("Cluster", ReadOnlyCluster(cluster))


def read_only_error() -> PermissionDenied:
    """The refusal of every change."""
    return PermissionDenied(
        "This server is read-only", hint="changes need a server without read_only"
    )
