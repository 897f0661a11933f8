"""The options of `kedge lab up`; a setting that is not given stays as it was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from kedge.errors import InvalidRequest
from kedge.model.parse_amounts import parse_bytes

AS_TYPED = (
    "brokers",
    "racks",
    "first_id",
    "log_dirs",
    "seed",
    "partitions",
    "replication_factor",
    "auto_create",
    "host",
    "port",
    "kraft",
    "controllers",
)


@dataclass(frozen=True, slots=True)
class LabOptions:
    """The options, as typed."""

    brokers: Annotated[int | None, typer.Option(help="How many brokers (3)")] = None
    kraft: Annotated[
        bool | None, typer.Option("--kraft/--zookeeper", help="The mode (ZooKeeper)")
    ] = None
    controllers: Annotated[int | None, typer.Option(help="KRaft controllers: 1 or 3 (1)")] = None
    racks: Annotated[int | None, typer.Option(help="On how many racks: r0, r1, … (1)")] = None
    first_id: Annotated[int | None, typer.Option(help="The id of the first broker (0)")] = None
    log_dirs: Annotated[int | None, typer.Option(help="Log directories of a broker (2)")] = None
    disk: Annotated[str | None, typer.Option(help="A broker's disk in bytes (1TB)")] = None
    disk_rate: Annotated[
        str | None, typer.Option(help="A log directory's bytes per second (200MB)")
    ] = None
    link: Annotated[
        str | None, typer.Option(help="A network card's bytes per second, each way (125MB)")
    ] = None
    speed: Annotated[
        str | None, typer.Option(help="Seconds of lab time per second: 1, 60, … or max (1)")
    ] = None
    traffic: Annotated[
        str | None, typer.Option(help="What producers do: none, even, skewed (none)")
    ] = None
    rate: Annotated[
        str | None, typer.Option(help="Bytes per second that all producers write (10MB)")
    ] = None
    seed: Annotated[int | None, typer.Option(help="Decides placement and traffic (1)")] = None
    session_timeout: Annotated[
        int | None, typer.Option(help="Milliseconds of lab time until a dead broker is missed")
    ] = None
    partitions: Annotated[int | None, typer.Option(help="num.partitions (1)")] = None
    replication_factor: Annotated[
        int | None, typer.Option(help="default.replication.factor (1)")
    ] = None
    auto_create: Annotated[bool | None, typer.Option(help="auto.create.topics.enable (on)")] = None
    host: Annotated[str | None, typer.Option(help="Where to listen (127.0.0.1)")] = None
    sasl_users: Annotated[
        Path | None, typer.Option(help="Ask for a password (SASL/PLAIN): lines of name:password")
    ] = None
    port: Annotated[
        int | None, typer.Option(help="Of the first broker, then upwards; 0 is any (0)")
    ] = None

    def given(self) -> dict[str, Any]:
        """The settings that were given, by name."""
        settings = {name: getattr(self, name) for name in AS_TYPED}
        settings |= {
            "session_timeout_ms": self.session_timeout,
            "disk_bytes": _amount(self.disk, "--disk"),
            "disk_rate": _amount(self.disk_rate, "--disk-rate"),
            "link_rate": _amount(self.link, "--link"),
            "rate": _amount(self.rate, "--rate"),
            "speed": _speed(self.speed),
            "traffic": _traffic(self.traffic),
            "sasl_users": None if self.sasl_users is None else str(self.sasl_users.absolute()),
        }
        return {name: value for name, value in settings.items() if value is not None}


def _amount(text: str | None, what: str) -> int | None:
    return None if text is None else parse_bytes(text, what, least=0)


def _speed(text: str | None) -> float | None:
    from kedge.lab.settings import parse_speed

    return None if text is None else parse_speed(text)


def _traffic(text: str | None) -> Any:
    from kedge.lab.settings import Traffic

    if text is not None and text not in list(Traffic):
        raise InvalidRequest(f"traffic {text!r} is not one of {', '.join(Traffic)}")
    return None if text is None else Traffic(text)
