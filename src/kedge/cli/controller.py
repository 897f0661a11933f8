"""`kedge controller`: be the controller of real Kafka brokers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.options import echo, help_without_command
from kedge.errors import InvalidRequest

if TYPE_CHECKING:  # slow to import, and needed only to run a controller
    from kedge.service import ControllerService, Options

app = typer.Typer(
    name="controller",
    help="Be the controller of a Kafka cluster, with ZooKeeper or with KRaft",
    invoke_without_command=True,
)


@app.callback()
def group(context: typer.Context) -> None:
    """Be the controller of a Kafka cluster, with ZooKeeper or with KRaft"""
    help_without_command(context)


@app.command("run")
def run(
    zookeeper: Annotated[
        str | None, typer.Option("--zookeeper", help="ZooKeeper, as in zk1:2181,zk2:2181/kafka")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="KRaft: server.properties with process.roles=controller"),
    ] = None,
    listen: Annotated[
        str, typer.Option("--listen", help="HOST:PORT for brokers and clients")
    ] = "127.0.0.1:0",
    node: Annotated[
        int, typer.Option("--id", help="The node id; no broker may have it", min=0)
    ] = 1000,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Take the role from any broker that holds it")
    ] = False,
    protocol: Annotated[
        str | None,
        typer.Option("--inter-broker-protocol", help="As on the brokers; read from them if absent"),
    ] = None,
    listener: Annotated[
        str | None,
        typer.Option("--listener", help="The brokers' listener to use; their first PLAINTEXT one"),
    ] = None,
    session_timeout_ms: Annotated[
        int,
        typer.Option("--session-timeout-ms", help="Milliseconds until ZooKeeper ends the session"),
    ] = 6000,
    metrics_port: Annotated[
        int | None,
        typer.Option("--metrics-port", help="Short for --metrics-listen 127.0.0.1:PORT"),
    ] = None,
    metrics_listen: Annotated[
        str | None,
        typer.Option("--metrics-listen", help="HOST:PORT of /metrics and /healthz; port 0 for any"),
    ] = None,
) -> None:
    """Run the controller until SIGTERM, or stand by until the role is vacant

    Example: kedge controller run --zookeeper 127.0.0.1:2181 --listen 127.0.0.1:9090 --take-over

    With --config it is a controller of a KRaft quorum, alone or beside Kafka's own.

    Example: kedge controller run --config server.properties
    """
    if (zookeeper is None) == (config is None):
        raise InvalidRequest("give one of --zookeeper and --config")
    if config is not None:
        from kedge.cli.kraft_controller import serve

        serve(config, _metrics_address(metrics_listen, metrics_port))
        return
    assert zookeeper is not None
    from kedge.model import BrokerId
    from kedge.service import Options, parse_address, parse_protocol

    metrics = _metrics_address(metrics_listen, metrics_port)
    _serve(
        Options(
            zookeeper=zookeeper,
            listen=parse_address(listen),
            id=BrokerId(node),
            take_over=take_over,
            protocol=None if protocol is None else parse_protocol(protocol),
            listener=listener,
            session_timeout_ms=session_timeout_ms,
            metrics=None if metrics is None else parse_address(metrics),
        )
    )


def _metrics_address(listen: str | None, port: int | None) -> str | None:
    if listen is not None and port is not None:
        raise InvalidRequest(
            "--metrics-listen and --metrics-port exclude each other", hint="use --metrics-listen"
        )
    return f"127.0.0.1:{port}" if port is not None else listen


def _serve(options: Options) -> None:
    """Run until SIGTERM or SIGINT; the log goes to stderr."""
    import logging

    from kedge.service import ControllerService, JsonLines

    lines = JsonLines()
    logging.getLogger("kedge").addHandler(lines)
    service = ControllerService(options, log=lines.sink)
    _stop_on_signals(service)
    with service:
        host, port = service.at
        echo(f"LISTENING {host}:{port}")  # for programs that start this one with port 0
        lines.note("listening", host=host, port=port, id=options.id)
        if options.metrics is not None:
            lines.note("metrics", host=options.metrics.host, port=service.metrics.port)
        service.wait()
    lines.note("stopped")


def _stop_on_signals(service: ControllerService) -> None:
    import signal

    def stop(_number: int, _frame: object) -> None:
        service.request_stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


@app.command("format")
def format_(
    config: Annotated[
        Path, typer.Option("--config", help="server.properties with process.roles=controller")
    ],
    cluster_id: Annotated[
        str, typer.Option("--cluster-id", help="The cluster's id: 22 letters, as of the brokers")
    ],
    release: Annotated[
        str, typer.Option("--release-version", help="The metadata.version, as in 4.1-IV1")
    ] = "4.1-IV1",
    feature: Annotated[
        list[str] | None, typer.Option("--feature", help="NAME=LEVEL; may be repeated")
    ] = None,
    standalone: Annotated[
        bool, typer.Option("--standalone", help="Begin a dynamic quorum of this node alone")
    ] = False,
    ignore_formatted: Annotated[
        bool, typer.Option("--ignore-formatted", help="Leave a formatted directory as it is")
    ] = False,
) -> None:
    """Prepare the directory of a KRaft controller

    Example: kedge controller format --config server.properties --cluster-id MkU3OEVBNTcwNTJENDM2Qg
    """
    from kedge.cli.kraft_controller import format_storage

    format_storage(
        config,
        cluster_id,
        release=release,
        features=feature or [],
        standalone=standalone,
        ignore_formatted=ignore_formatted,
    )
