"""Which cluster a command is for, and how to reach it: options that all its commands share."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.options import echo
from kedge.errors import InvalidRequest
from kedge.model.printable import printable

if TYPE_CHECKING:
    from kedge.cluster.port import Cluster

BootstrapOption = Annotated[
    str, typer.Option("--bootstrap-server", help="The cluster: host:port, several by commas")
]
ZooKeeperOption = Annotated[
    str,
    typer.Option("--zookeeper", help="Instead, through ZooKeeper, as Kafka's first tools did"),
]
CommandConfigOption = Annotated[
    Path | None,
    typer.Option("--command-config", help="Client properties (SASL, TLS), as Kafka's tools"),
]
YesOption = Annotated[
    bool, typer.Option("--yes", "--force", help="Do not ask, not even at a terminal")
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
            "which cluster is meant?" if not bootstrap else "two ways to the cluster",
            hint="give --bootstrap-server host:port" if not bootstrap else "leave --zookeeper out",
        )
    if zookeeper:
        with _through_zookeeper(zookeeper) as cluster:
            yield cluster
        return
    from kedge.wiring import open_cluster

    with open_cluster(bootstrap, _settings(command_config)) as cluster:
        yield cluster


@contextmanager
def _through_zookeeper(address: str) -> Generator[Cluster]:
    from kedge.cli.zookeeper_cluster import ZooKeeperCluster
    from kedge.store.zookeeper import ZooKeeperStore

    cluster = ZooKeeperCluster(ZooKeeperStore(address))
    try:
        yield cluster
    finally:
        cluster.close()


def _settings(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    from kedge.cluster.properties import parse_properties
    from kedge.files import read_text, said_of

    text = read_text(path)
    with said_of(path):
        return parse_properties(text)


def confirm(question: str, *, yes: bool) -> None:
    """Ask before a change that cannot be undone, if somebody sits there to answer."""
    import sys

    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    typer.confirm(printable(question), abort=True, err=True)


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
