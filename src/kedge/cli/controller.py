"""`kedge controller`: be the controller of real Kafka brokers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.controller_options import ControllerOptions
from kedge.cli.option_group import with_option_group
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
@with_option_group(ControllerOptions)
def run(options: ControllerOptions) -> None:
    """Run the controller until SIGTERM, or stand by until the role is vacant

    Example: kedge controller run --zookeeper 127.0.0.1:2181 --listen 127.0.0.1:9090 --take-over

    With --config it is a controller of a KRaft quorum, alone or beside Kafka's own.

    Example: kedge controller run --config server.properties
    """
    if (options.zookeeper is None) == (options.config is None):
        raise InvalidRequest("give one of --zookeeper and --config")
    if options.config is not None:
        from kedge.cli.kraft_controller import serve

        serve(options.config, options.metrics)
    else:
        _serve(_with_zookeeper(options))


def _with_zookeeper(options: ControllerOptions) -> Options:
    from kedge.model import BrokerId
    from kedge.service import Options, parse_address, parse_protocol

    assert options.zookeeper is not None
    metrics = options.metrics
    return Options(
        zookeeper=options.zookeeper,
        listen=parse_address(options.listen),
        id=BrokerId(options.node),
        take_over=options.take_over,
        protocol=None if options.protocol is None else parse_protocol(options.protocol),
        listener=options.listener,
        session_timeout_ms=options.session_timeout_ms,
        metrics=None if metrics is None else parse_address(metrics),
    )


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
