"""`kedge lab`: a whole cluster in one process, for trials."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.lab_options import LabOptions
from kedge.cli.option_group import with_option_group
from kedge.cli.options import Output, OutputOption, echo, help_without_command, say
from kedge.errors import InvalidRequest
from kedge.model.parse_amounts import parse_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

app = typer.Typer(
    name="lab",
    help="Run a whole cluster in one process",
    invoke_without_command=True,
    rich_markup_mode=None,
)

DirOption = Annotated[Path, typer.Option("--dir", help="The lab's own directory")]


@app.callback(invoke_without_command=True)
def lab_group(context: typer.Context) -> None:
    """Run a whole cluster in one process"""
    help_without_command(context)


# ---- up -----------------------------------------------------------------------------------------


@app.command("up")
@with_option_group(LabOptions)
def up_command(
    options: LabOptions,
    folder: DirOption,
    detach: Annotated[bool, typer.Option("--detach", help="Go on in the background")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Start a lab, or go on with the one that is kept in a directory

    Example: kedge lab up --brokers 9 --racks 3 --dir lab --speed 60 --detach --output json
    """
    place, given = folder.absolute(), options.given()
    if detach:
        from kedge.lab.daemon import start_detached

        log = place / "lab.log"
        _show_start(start_detached(lambda ready: _serve(place, given, ready, log=log), log), output)
        return
    _serve(place, given, lambda about: _show_start(about, output))


def _serve(
    place: Path,
    given: dict[str, Any],
    ready: Callable[[dict[str, Any]], None],
    *,
    log: Path | None = None,
) -> None:
    """Run a lab until it is stopped; with a log, messages go there."""
    from kedge.lab.daemon import redirect_output
    from kedge.lab.lab_dir import open_or_create_lab_dir
    from kedge.lab.lab_process import LabProcess

    kept = open_or_create_lab_dir(place, given)
    if log is not None:
        redirect_output(log)
    process = LabProcess(kept)
    process.handle_signals()
    about = process.start()
    if process.lab.dropped_bytes:
        say(
            f"kedge: the last {process.lab.dropped_bytes} bytes of the journal were half "
            "written and are gone"
        )
    ready(about)
    if log is not None:
        process.run(lambda: None)
        return
    from kedge.cli.live_progress import status_line
    from kedge.report.lab import live_line

    with status_line() as show:
        process.run(lambda: show(live_line(process.lab.status())))


def _show_start(about: dict[str, Any], output: Output) -> None:
    if about["warning"]:
        say(f"kedge: warning: {about['warning']}")
    if output is Output.JSON:
        echo_json(about)
    else:
        echo_lines(
            [
                f"{len(about['brokers'])} brokers, controller {about['controller']}, "
                f"process {about['pid']}",
                f"--bootstrap-server {about['bootstrap_servers']}",
            ]
        )
    sys.stdout.flush()


# ---- requests -----------------------------------------------------------------------------------


@app.command("down")
def down_command(folder: DirOption) -> None:
    """End a lab; what is in its directory stays

    Example: kedge lab down --dir lab
    """
    from kedge.lab.daemon import end_lab
    from kedge.lab.lab_dir import open_lab_dir

    ended = end_lab(open_lab_dir(folder.absolute()))
    if ended is None:
        say(f"no lab is running in {folder}")
    else:
        say(f"the lab in {folder} (process {ended.pid}) has ended")


@app.command("status")
def status_command(folder: DirOption, output: OutputOption = Output.TABLE) -> None:
    """Show brokers, controller, partitions and moves of a lab

    Example: kedge lab status --dir lab --output json
    """
    status = _request(folder, "status")
    if output is Output.JSON:
        echo_json(status)
    else:
        from kedge.report.lab import status_lines

        echo_lines(status_lines(status))


@app.command("inject")
def inject_command(
    kind: Annotated[str, typer.Argument(help="The kind of fault; see below")],
    arguments: Annotated[list[str] | None, typer.Argument(help="The broker or directory")] = None,
    folder: DirOption = Path(),
) -> None:
    """Inject a fault into a lab, or end one

    broker-crash ID · broker-start ID · broker-bounce ID · slow-disk ID FACTOR ·
    partition-network ID,ID · log-dir-failure ID DIR · controller-failover · heal ·
    in KRaft mode controller-crash [ID] · controller-start [ID]

    Example: kedge lab inject --dir lab broker-crash 2
    """
    echo(str(_request(folder, "inject", kind=kind, arguments=arguments or [])))


@app.command("fill")
def fill_command(
    topic: Annotated[str, typer.Argument(help="A topic of the lab")],
    size: Annotated[str, typer.Argument(help="Bytes for each partition, such as 10GB")],
    folder: DirOption = Path(),
    partition: Annotated[int | None, typer.Option(help="Only this one")] = None,
) -> None:
    """Write data to a topic of a lab

    Example: kedge lab fill --dir lab orders 10GB
    """
    from kedge.report.amounts import bytes_text

    size_bytes = parse_bytes(size, "the size")
    count = _request(folder, "fill", topic=topic, bytes=size_bytes, partition=partition)
    echo(f"{bytes_text(size_bytes)} written to each of {count} partitions")


@app.command("sample")
def sample_command(
    out: Annotated[Path, typer.Option(help="JSON lines; two Parquet tables go beside it")],
    folder: DirOption = Path(),
    minutes: Annotated[int, typer.Option(help="Of lab time; they pass at once")] = 30,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write metrics of the next minutes of lab time, for the pipeline to take in

    Example: kedge lab sample --dir lab --minutes 30 --out metrics.jsonl
    """
    done = _request(folder, "sample", minutes=minutes, out=str(out.absolute()), timeout_s=3_600.0)
    if output is Output.JSON:
        echo_json(done)
    else:
        echo(f"{done['rows']} rows of {done['minutes']} minutes in {done['out']}")


def _request(folder: Path, what: str, **details: Any) -> Any:
    from kedge.lab.control_socket import send_command
    from kedge.lab.daemon import read_pid
    from kedge.lab.lab_dir import open_lab_dir

    kept = open_lab_dir(folder.absolute())
    if read_pid(kept.path) is None:
        hint = f"start it: kedge lab up --dir {folder}"
        raise InvalidRequest(f"no lab is running in {folder}", hint=hint)
    return send_command(kept.control, what, **details)
