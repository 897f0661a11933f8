"""`kedge lab`: a whole cluster in one process, to try everything on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.options import Output, OutputOption, help_without_command, say
from kedge.errors import InvalidRequest

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
def up_command(
    folder: DirOption,
    brokers: Annotated[int | None, typer.Option(help="How many brokers (3)")] = None,
    racks: Annotated[int | None, typer.Option(help="On how many racks: r0, r1, … (1)")] = None,
    first_id: Annotated[int | None, typer.Option(help="The id of the first broker (0)")] = None,
    log_dirs: Annotated[int | None, typer.Option(help="Log directories of a broker (2)")] = None,
    disk: Annotated[str | None, typer.Option(help="A broker's disk in bytes (1TB)")] = None,
    disk_rate: Annotated[
        str | None, typer.Option(help="A log directory's bytes per second (200MB)")
    ] = None,
    link: Annotated[
        str | None, typer.Option(help="A network card's bytes per second, each way (125MB)")
    ] = None,
    speed: Annotated[
        str | None, typer.Option(help="Seconds of lab time per second: 1, 60, … or max (1)")
    ] = None,
    traffic: Annotated[
        str | None, typer.Option(help="What producers do: none, even, skewed (none)")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(help="Bytes per second that all producers write (10MB)")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Decides placement and traffic (1)")] = None,
    session_timeout: Annotated[
        int | None, typer.Option(help="Milliseconds of lab time until a dead broker is missed")
    ] = None,
    partitions: Annotated[int | None, typer.Option(help="num.partitions (1)")] = None,
    replication_factor: Annotated[
        int | None, typer.Option(help="default.replication.factor (1)")
    ] = None,
    auto_create: Annotated[bool | None, typer.Option(help="auto.create.topics.enable (on)")] = None,
    host: Annotated[str | None, typer.Option(help="Where to listen (127.0.0.1)")] = None,
    port: Annotated[
        int | None, typer.Option(help="Of the first broker, then upwards; 0 is any (0)")
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Go on in the background")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Start a lab, or go on with the one that is kept in a directory

    Example: kedge lab up --brokers 9 --racks 3 --dir lab --speed 60 --detach --output json
    """
    numbers: dict[str, Any] = {
        "brokers": brokers,
        "racks": racks,
        "first_id": first_id,
        "log_dirs": log_dirs,
        "seed": seed,
        "session_timeout_ms": session_timeout,
        "partitions": partitions,
        "replication_factor": replication_factor,
        "auto_create": auto_create,
        "host": host,
        "port": port,
    }
    texts = {"disk_bytes": disk, "disk_rate": disk_rate, "link_rate": link, "rate": rate}

    def serve(ready: Callable[[dict[str, Any]], None], *, is_detached: bool) -> None:
        from kedge.lab.detached import say_into
        from kedge.lab.folder import open_or_make
        from kedge.lab.process import LabProcess

        place = folder.absolute()
        kept = open_or_make(place, _asked(numbers, texts, speed, traffic))
        if is_detached:
            say_into(place / "lab.log")
        process = LabProcess(kept)
        process.obey_signals()
        about = process.start()
        if process.lab.dropped_bytes:
            say(
                f"kedge: the last {process.lab.dropped_bytes} bytes of the journal were half "
                "written and are gone"
            )
        ready(about)
        process.run(lambda: None if is_detached else _live_line(process.lab.status()))

    if detach:
        from kedge.lab.detached import start_detached

        log = folder.absolute() / "lab.log"
        _show_start(start_detached(lambda ready: serve(ready, is_detached=True), log), output)
        return
    serve(lambda about: _show_start(about, output), is_detached=False)
    if sys.stderr.isatty():
        say("")


def _asked(
    numbers: dict[str, Any], texts: dict[str, str | None], speed: str | None, traffic: str | None
) -> dict[str, Any]:
    from kedge.lab.settings import Traffic, parse_speed
    from kedge.lab.sizes import parse_size

    asked = {name: value for name, value in numbers.items() if value is not None}
    asked |= {n: parse_size(text, n.split("_")[0]) for n, text in texts.items() if text is not None}
    if speed is not None:
        asked["speed"] = parse_speed(speed)
    if traffic is not None:
        if traffic not in list(Traffic):
            raise InvalidRequest(f"traffic {traffic!r} is not one of {', '.join(Traffic)}")
        asked["traffic"] = Traffic(traffic)
    return asked


def _show_start(about: dict[str, Any], output: Output) -> None:
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


def _live_line(status: dict[str, Any]) -> None:
    """One line that is written over and over, if somebody looks."""
    if not sys.stderr.isatty():
        return
    up = sum(broker["up"] for broker in status["brokers"])
    line = (
        f"{status['lab_time'][:19]}  {up}/{len(status['brokers'])} brokers  "
        f"controller {status['controller']}  {status['partitions']} partitions, "
        f"{status['under_replicated']} under-replicated, {len(status['moves'])} moving"
    )
    typer.echo(f"\r{line}\033[K", nl=False, err=True)


# ---- orders -------------------------------------------------------------------------------------


@app.command("down")
def down_command(folder: DirOption) -> None:
    """End a lab; what is in its directory stays

    Example: kedge lab down --dir lab
    """
    from kedge.lab.folder import open_folder
    from kedge.lab.process_id import end_lab

    ended = end_lab(open_folder(folder.absolute()))
    if ended is None:
        say(f"no lab is running in {folder}")
    else:
        say(f"the lab in {folder} (process {ended.pid}) has ended")


@app.command("status")
def status_command(folder: DirOption, output: OutputOption = Output.TABLE) -> None:
    """Show brokers, controller, partitions and moves of a lab

    Example: kedge lab status --dir lab --output json
    """
    status = _order(folder, "status")
    if output is Output.JSON:
        echo_json(status)
    else:
        from kedge.report.lab import status_lines

        echo_lines(status_lines(status))


@app.command("inject")
def inject_command(
    kind: Annotated[str, typer.Argument(help="What is to happen; see below")],
    arguments: Annotated[list[str] | None, typer.Argument(help="What it happens to")] = None,
    folder: DirOption = Path(),
) -> None:
    """Let something go wrong in a lab, or right again

    broker-crash ID · broker-start ID · broker-bounce ID · slow-disk ID FACTOR ·
    partition-network ID,ID · log-dir-failure ID DIR · controller-failover · heal

    Example: kedge lab inject --dir lab broker-crash 2
    """
    typer.echo(_order(folder, "inject", kind=kind, arguments=arguments or []))


@app.command("fill")
def fill_command(
    topic: Annotated[str, typer.Argument(help="A topic of the lab")],
    size: Annotated[str, typer.Argument(help="Bytes for each partition, such as 10GB")],
    folder: DirOption = Path(),
    partition: Annotated[int | None, typer.Option(help="Only this one")] = None,
) -> None:
    """Write data to a topic of a lab, so that there is something to move

    Example: kedge lab fill --dir lab orders 10GB
    """
    from kedge.lab.sizes import parse_size
    from kedge.report.amounts import bytes_text

    size_bytes = parse_size(size)
    count = _order(folder, "fill", topic=topic, bytes=size_bytes, partition=partition)
    typer.echo(f"{bytes_text(size_bytes)} written to each of {count} partitions")


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
    done = _order(folder, "sample", minutes=minutes, out=str(out.absolute()), timeout_s=3_600.0)
    if output is Output.JSON:
        echo_json(done)
    else:
        typer.echo(f"{done['rows']} rows of {done['minutes']} minutes in {done['out']}")


def _order(folder: Path, what: str, **details: Any) -> Any:
    from kedge.lab.control import order
    from kedge.lab.folder import open_folder
    from kedge.lab.process_id import read_pid

    kept = open_folder(folder.absolute())
    if read_pid(kept.path) is None:
        hint = f"start it: kedge lab up --dir {folder}"
        raise InvalidRequest(f"no lab is running in {folder}", hint=hint)
    return order(kept.control, what, **details)
