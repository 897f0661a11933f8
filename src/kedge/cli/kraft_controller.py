"""What `kedge controller` does for KRaft."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kedge.cli.options import echo
from kedge.errors import InvalidRequest

if TYPE_CHECKING:  # slow to import, and needed only to run a controller
    from kedge.service.kraft import KraftService


def serve(config: Path, metrics: str | None) -> None:
    """Run a controller until SIGTERM or SIGINT; the log goes to stderr."""
    from kedge.service import JsonLines
    from kedge.service.kraft import KraftService, read_properties

    lines = JsonLines()
    service = KraftService(read_properties(config), note=lines.note)
    asyncio.run(_run(service, metrics))
    lines.note("stopped", fault=service.fault)
    if service.fault is not None:
        raise typer.Exit(1)


async def _run(service: KraftService, metrics: str | None) -> None:
    import signal

    from kedge.service.kraft.metrics import metrics_of

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, service.request_stop)
    with metrics_of(service, metrics) as port:

        def listening(bound: int) -> None:
            echo(f"LISTENING {bound}")  # for programs that start this one with port 0
            service.note("listening", port=bound, id=service.meta.node_id, metrics=port)

        await service.run(listening)


def format_storage(
    config: Path,
    cluster_id: str,
    *,
    release: str,
    features: list[str],
    standalone: bool,
    ignore_formatted: bool,
) -> None:
    """Write the files of a new controller."""
    from kedge.service.kraft import read_properties
    from kedge.service.kraft.storage import format_controller

    levels = dict(map(_feature, features))
    done = format_controller(
        read_properties(config),
        cluster_id,
        release=release,
        features=levels,
        standalone=standalone,
        ignore_formatted=ignore_formatted,
    )
    echo(done)


def _feature(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    if not equals or not level.isdigit():
        raise InvalidRequest(f"{text!r} is not a feature level", hint="as in group.version=1")
    return name, int(level)
