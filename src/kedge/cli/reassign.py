"""`kedge reassign …`: what kafka-reassign-partitions does, with its files, flags and lines."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import (
    BootstrapOption,
    CommandConfigOption,
    DryRunOption,
    YesOption,
    ZooKeeperOption,
    confirm,
    connected,
    echo_json,
    echo_lines,
)
from kedge.cli.options import (
    EXIT_FAILED,
    Output,
    OutputOption,
    echo,
    help_without_command,
    note,
)
from kedge.model.parse_amounts import parse_rate

if TYPE_CHECKING:
    from kedge.apply.kafka_reassign import Reporter
    from kedge.plan import ReassignmentFile

FileOption = Annotated[
    Path, typer.Option("--reassignment-json-file", help="The moves, as Kafka's JSON")
]
PreserveOption = Annotated[
    bool, typer.Option("--preserve-throttles", help="Do not remove throttles")
]
TimeoutOption = Annotated[
    int, typer.Option("--timeout", help="Milliseconds to wait for moves between directories")
]

NO_CHANGE = "-1"

app = typer.Typer(name="reassign", help="Move replicas between brokers and directories")


@app.callback(invoke_without_command=True)
def root(context: typer.Context) -> None:
    """Move replicas between brokers and directories"""
    help_without_command(context)


def _reporter(output: Output, *, yes: bool = False) -> Reporter:
    """Writes lines to stdout, unless JSON is printed there; notes and questions go to stderr."""
    from kedge.apply.kafka_reassign import Reporter

    def drop(_line: str) -> None:
        return None

    line = echo if output is Output.TABLE else drop
    return Reporter(line, note, partial(confirm, yes=yes))


def _file(path: Path, *, strict: bool = False) -> ReassignmentFile:
    from kedge.files import read_text, with_path_context
    from kedge.plan import parse_execute, parse_reassignment

    text = read_text(path)
    with with_path_context(path):
        return parse_execute(text) if strict else parse_reassignment(text)


@app.command("generate")
def generate_command(
    topics_to_move_json_file: Annotated[
        Path, typer.Option(help='The topics: {"topics":[{"topic":"orders"}],"version":1}')
    ],
    broker_list: Annotated[str, typer.Option(help="The brokers to use: 0,1,2")],
    disable_rack_aware: Annotated[
        bool, typer.Option("--disable-rack-aware", help="Ignore racks")
    ] = False,
    bootstrap_server: BootstrapOption = "",
    zookeeper: ZooKeeperOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Propose a fresh layout of topics on some brokers; nothing is changed

    Example: kedge reassign generate --bootstrap-server localhost:9092 --topics-to-move-json-file
    topics.json --broker-list 1,2,3
    """
    import json

    from kedge.apply.kafka_reassign import generate
    from kedge.files import read_text, with_path_context
    from kedge.plan import parse_broker_list, parse_topics_to_move, reassignment_text

    text = read_text(topics_to_move_json_file)
    brokers = parse_broker_list(broker_list)
    with with_path_context(topics_to_move_json_file):
        topics = parse_topics_to_move(text)
    with connected(bootstrap_server, command_config, zookeeper=zookeeper) as cluster:
        proposal = generate(cluster, topics, brokers, rack_aware=not disable_rack_aware)
    if output is Output.TABLE:
        echo_lines(proposal.lines)
        return
    layouts = {"current": proposal.current, "proposed": proposal.proposed}
    echo_json({name: json.loads(reassignment_text(each)) for name, each in layouts.items()})


@app.command("execute")
def execute_command(
    reassignment_json_file: FileOption,
    additional: Annotated[
        bool, typer.Option("--additional", help="Also start while other moves are in progress")
    ] = False,
    throttle: Annotated[
        str, typer.Option(help="Bytes per second per broker between brokers; -1 for no change")
    ] = NO_CHANGE,
    replica_alter_log_dirs_throttle: Annotated[
        str, typer.Option(help="Bytes per second between directories; -1 for no change")
    ] = NO_CHANGE,
    timeout: TimeoutOption = 10_000,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    bootstrap_server: BootstrapOption = "",
    zookeeper: ZooKeeperOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Start the moves of a file: prints the present assignment, asks, then starts

    Example: kedge reassign execute --bootstrap-server localhost:9092 --reassignment-json-file
    moves.json --throttle 50000000 --yes
    """
    import json

    from kedge.apply.kafka_reassign import Limits, execute
    from kedge.plan import reassignment_text
    from kedge.report.moves import refused_rows

    file = _file(reassignment_json_file, strict=True)
    limits = Limits(
        _rate(throttle, "--throttle"),
        _rate(replica_alter_log_dirs_throttle, "--replica-alter-log-dirs-throttle"),
        timeout,
    )
    with connected(bootstrap_server, command_config, zookeeper=zookeeper) as cluster:
        done = execute(
            cluster,
            file,
            limits,
            additional=additional,
            dry_run=dry_run,
            report=_reporter(output, yes=yes),
        )
    if output is Output.JSON:
        echo_json(
            {
                "before": json.loads(reassignment_text(done.before)),
                "started": [tp._asdict() for tp in done.started],
                "refused": refused_rows(done.refused),
                "log_dirs": [r._asdict() | {"log_dir": p} for r, p in done.log_dirs.items()],
                "dry_run": dry_run,
            }
        )
    return EXIT_FAILED if done.refused else 0


def _rate(given: str, option: str) -> int | None:
    return None if given == NO_CHANGE else parse_rate(given, option)


@app.command("verify")
def verify_command(
    reassignment_json_file: FileOption,
    preserve_throttles: PreserveOption = False,
    bootstrap_server: BootstrapOption = "",
    zookeeper: ZooKeeperOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the state of the moves of a file; removes throttles when all are done

    Example: kedge reassign verify --bootstrap-server localhost:9092 --reassignment-json-file
    moves.json
    """
    from kedge.apply.kafka_reassign import verify
    from kedge.report.moves import verification_row

    file = _file(reassignment_json_file)
    with connected(bootstrap_server, command_config, zookeeper=zookeeper) as cluster:
        judged, cleared = verify(
            cluster, file, preserve_throttles=preserve_throttles, report=_reporter(output)
        )
    if output is Output.JSON:
        echo_json(verification_row(judged, cleared))


@app.command("list")
def list_command(
    bootstrap_server: BootstrapOption = "",
    zookeeper: ZooKeeperOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the partitions that are being moved

    Example: kedge reassign list --bootstrap-server localhost:9092
    """
    from kedge.plan import list_lines
    from kedge.report.moves import moving_rows

    with connected(bootstrap_server, command_config, zookeeper=zookeeper) as cluster:
        active = cluster.reassignments()
    if output is Output.JSON:
        echo_json({"moving": moving_rows(active)})
    else:
        echo_lines(list_lines(active))


@app.command("cancel")
def cancel_command(
    reassignment_json_file: FileOption,
    preserve_throttles: PreserveOption = False,
    timeout: TimeoutOption = 10_000,
    bootstrap_server: BootstrapOption = "",
    zookeeper: ZooKeeperOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Cancel the moves of a file that are in progress; removes throttles

    Example: kedge reassign cancel --bootstrap-server localhost:9092 --reassignment-json-file
    moves.json
    """
    from kedge.apply.kafka_reassign import cancel
    from kedge.report.moves import refused_rows

    file = _file(reassignment_json_file)
    with connected(bootstrap_server, command_config, zookeeper=zookeeper) as cluster:
        cancelled, refused = cancel(
            cluster,
            file,
            preserve_throttles=preserve_throttles,
            timeout_ms=timeout,
            report=_reporter(output),
        )
    if output is Output.JSON:
        listed = [tp._asdict() for tp in cancelled]
        echo_json({"cancelled": listed, "refused": refused_rows(refused)})
    return EXIT_FAILED if refused else 0
