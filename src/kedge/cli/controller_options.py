"""Options of `kedge controller run`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from kedge.errors import InvalidRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """Where the controller finds its cluster, where it listens, and what it takes over."""

    zookeeper: Annotated[
        str | None, typer.Option("--zookeeper", help="ZooKeeper, as in zk1:2181,zk2:2181/kafka")
    ] = None
    config: Annotated[
        Path | None,
        typer.Option("--config", help="KRaft: server.properties with process.roles=controller"),
    ] = None
    listen: Annotated[str, typer.Option("--listen", help="HOST:PORT for brokers and clients")] = (
        "127.0.0.1:0"
    )
    node: Annotated[int, typer.Option("--id", help="The node id; no broker may have it", min=0)] = (
        1000
    )
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Take the role from any broker that holds it")
    ] = False
    protocol: Annotated[
        str | None,
        typer.Option("--inter-broker-protocol", help="As on the brokers; read from them if absent"),
    ] = None
    listener: Annotated[
        str | None,
        typer.Option("--listener", help="The brokers' listener to use; their first PLAINTEXT one"),
    ] = None
    session_timeout_ms: Annotated[
        int,
        typer.Option("--session-timeout-ms", help="Milliseconds until ZooKeeper ends the session"),
    ] = 6000
    metrics_port: Annotated[
        int | None,
        typer.Option("--metrics-port", help="Short for --metrics-listen 127.0.0.1:PORT"),
    ] = None
    metrics_listen: Annotated[
        str | None,
        typer.Option("--metrics-listen", help="HOST:PORT of /metrics and /healthz; port 0 for any"),
    ] = None

    @property
    def metrics(self) -> str | None:
        """The address of the metrics, by either option."""
        if self.metrics_listen is not None and self.metrics_port is not None:
            raise InvalidRequest(
                "--metrics-listen and --metrics-port exclude each other",
                hint="use --metrics-listen",
            )
        return (
            f"127.0.0.1:{self.metrics_port}"
            if self.metrics_port is not None
            else self.metrics_listen
        )
