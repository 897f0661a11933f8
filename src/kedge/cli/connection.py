"""The options that name a cluster, the connection to it, and output that commands share."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from kedge.cli.options import echo
from kedge.errors import InvalidRequest
from kedge.model.printable import printable

if TYPE_CHECKING:
    from kedge.cluster.port import Cluster

BootstrapOption = Annotated[
    str,
    typer.Option(
        "--bootstrap-server", help="Brokers of the cluster: host:port, separate several by commas"
    ),
]
ZooKeeperOption = Annotated[
    str,
    typer.Option("--zookeeper", help="Use ZooKeeper instead, as Kafka's tools up to 2.8"),
]
CommandConfigOption = Annotated[
    Path | None,
    typer.Option("--command-config", help="Client properties (SASL, TLS), as Kafka's tools"),
]
YesOption = Annotated[
    bool, typer.Option("--yes", "--force", help="Do not ask; needed without a terminal")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be done and change nothing")
]


@contextmanager
def connected(
    bootstrap: str, command_config: Path | None, *, zookeeper: str = ""
) -> Generator[Cluster]:
    """The cluster for the time of a `with` block."""
    if bool(bootstrap) == bool(zookeeper):
        raise InvalidRequest(
            "No cluster given" if not bootstrap else "Two clusters given",
            hint="use --bootstrap-server host:port"
            if not bootstrap
            else "use either --bootstrap-server or --zookeeper",
        )
    from kedge.wiring import open_cluster, open_cluster_through_zookeeper

    opened = (
        open_cluster_through_zookeeper(zookeeper)
        if zookeeper
        else open_cluster(bootstrap, read_properties(command_config))
    )
    with opened as cluster:
        yield cluster


def read_properties(path: Path | None) -> dict[str, str]:
    """The properties in a file; none without a file."""
    from kedge import wiring

    return wiring.read_properties(path)


def confirm(question: str, *, yes: bool) -> None:
    """Ask before a change; without a terminal only `--yes` confirms it.

    Raises:
        InvalidRequest: the answer was no, or there is no terminal to ask on; nothing was changed.
    """
    import sys

    if yes:
        return
    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
        raise InvalidRequest("Not confirmed: no terminal to ask on", hint="use --yes to go on")
    if not typer.confirm(printable(question), err=True):
        raise InvalidRequest("Not confirmed: nothing was changed")


def _is_terminal(stream: IO[str] | None) -> bool:
    return stream is not None and stream.isatty()


def echo_lines(lines: list[str]) -> None:
    """Write a report to stdout."""
    for line in lines:
        echo(line)


def echo_json(value: object) -> None:
    """Write one value as JSON to stdout."""
    import json
    import sys

    is_unicode = sys.stdout is None or str(sys.stdout.encoding).lower().startswith("utf")  # pyright: ignore[reportUnnecessaryComparison]
    echo(json.dumps(value, ensure_ascii=not is_unicode, separators=(",", ":")))
