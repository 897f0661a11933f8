"""`kedge elect`: what kafka-leader-election does, with its files, flags and lines."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import (
    BootstrapOption,
    YesOption,
    ZooKeeperOption,
    confirm,
    connected,
    echo_json,
)
from kedge.cli.options import EXIT_FAILED, Output, OutputOption, echo, say
from kedge.errors import InvalidRequest, KedgeError

if TYPE_CHECKING:
    from kedge.model import TopicPartition


class ElectionType(StrEnum):
    """Which leader to elect."""

    PREFERRED = "preferred"
    UNCLEAN = "unclean"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("elect")(elect_command)


def elect_command(
    election_type: Annotated[
        ElectionType,
        typer.Option(
            case_sensitive=False,
            help="preferred: the first replica; unclean: any live replica, may lose records",
        ),
    ],
    all_topic_partitions: Annotated[
        bool, typer.Option("--all-topic-partitions", help="All partitions that need an election")
    ] = False,
    topic: Annotated[str | None, typer.Option(help="A topic; with --partition")] = None,
    partition: Annotated[int | None, typer.Option(help="Its partition")] = None,
    path_to_json_file: Annotated[
        Path | None, typer.Option(help='{"partitions":[{"topic":"orders","partition":0}]}')
    ] = None,
    yes: YesOption = False,
    bootstrap_server: BootstrapOption = "",
    zookeeper: ZooKeeperOption = "",
    command_config: Annotated[
        Path | None,
        typer.Option(
            "--command-config", "--admin.config", help="Client properties, as Kafka's tools"
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Elect leaders of partitions: the preferred ones, or any that are alive (unclean: asks first)

    Example: kedge elect --bootstrap-server localhost:9092 --election-type preferred --topic t
    --partition 0
    """
    from kedge.cluster.port import Election

    chosen = _partitions(all_topic_partitions, topic, partition, path_to_json_file)
    with connected(bootstrap_server, command_config, zookeeper=zookeeper) as cluster:
        if election_type is ElectionType.UNCLEAN:
            confirm(_unclean_question(cluster.describe().cluster_id, chosen), yes=yes)
        answers = cluster.elect_leaders(Election[election_type.name], chosen)
    return _show(answers, election_type.name, output)


def _partitions(
    everything: bool, topic: str | None, partition: int | None, file: Path | None
) -> list[TopicPartition] | None:
    from kedge.files import read_text, with_path_context
    from kedge.model import TopicPartition
    from kedge.plan import parse_election

    ways = [everything, topic is not None or partition is not None, file is not None]
    if sum(ways) != 1:
        raise InvalidRequest(
            "Which partitions to elect is not given, or given twice",
            hint="use --all-topic-partitions, --topic with --partition, or --path-to-json-file",
        )
    if everything:
        return None
    if file is not None:
        text = read_text(file)
        with with_path_context(file):
            return list(parse_election(text))
    if topic is None or partition is None:
        raise InvalidRequest("--topic and --partition need each other", hint="use both")
    return [TopicPartition(topic, partition)]


def _unclean_question(cluster_id: str, chosen: list[TopicPartition] | None) -> str:
    if chosen is None:
        where = "of all partitions without a leader"
    else:
        where = f"of {', '.join(map(str, chosen[:10]))}{', …' if len(chosen) > 10 else ''}"
    return (
        f"Elect leaders {where} of cluster {cluster_id} from replicas out of sync? "
        "Records that only the old leader had are lost."
    )


def _show(answers: Mapping[TopicPartition, KedgeError | None], kind: str, output: Output) -> int:
    from kedge.errors import ElectionNotNeeded

    elected = sorted(tp for tp, refusal in answers.items() if refusal is None)
    needless = sorted(tp for tp, e in answers.items() if isinstance(e, ElectionNotNeeded))
    failed = {tp: e for tp, e in answers.items() if e is not None and tp not in needless}
    if output is Output.JSON:
        from kedge.report.moves import refused_rows

        echo_json(
            {
                "elected": [tp._asdict() for tp in elected],
                "not_needed": [tp._asdict() for tp in needless],
                "failed": refused_rows(failed),
            }
        )
    else:
        _show_lines(elected, needless, failed, kind)
    if failed:
        say(f"kedge: {len(failed)} replica(s) could not be elected")
    return EXIT_FAILED if failed else 0


def _show_lines(
    elected: list[TopicPartition],
    needless: list[TopicPartition],
    failed: Mapping[TopicPartition, KedgeError],
    kind: str,
) -> None:
    if elected:
        names = ", ".join(map(str, elected))
        echo(f"Successfully completed leader election ({kind}) for partitions {names}")
    if needless:
        names = ", ".join(map(str, needless))
        echo(f"Valid replica already elected for partitions {names}")
    for tp, error in sorted(failed.items()):
        echo(f"Error completing leader election ({kind}) for partition: {tp}: {error}")
