"""The options of a plan: the cluster, the goals and their limits, for all planning commands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.connection import CommandConfigOption
from kedge.cli.parse_brokers import parse_brokers
from kedge.errors import InvalidRequest, MalformedNumber
from kedge.model.parse_amounts import parse_bytes, parse_rate

if TYPE_CHECKING:
    from kedge.balance import Goals
    from kedge.model import Snapshot


@dataclass(frozen=True, slots=True)
class GoalOptions:
    """The options, as typed."""

    snapshot: Annotated[
        Path | None, typer.Option("--snapshot", help="The cluster: a snapshot file or directory")
    ] = None
    bootstrap_server: Annotated[
        str, typer.Option("--bootstrap-server", help="A live cluster: host:port")
    ] = ""
    command_config: CommandConfigOption = None
    tolerance: Annotated[
        str,
        typer.Option(help="Share above the best possible maximum: 0.05, or 0.05,cpu=0.2"),
    ] = "0.05"
    max_bytes: Annotated[str | None, typer.Option(help="Most bytes to move, like 2TB")] = None
    max_moves: Annotated[int | None, typer.Option(help="Most replicas to move")] = None
    max_moves_per_broker: Annotated[
        int | None, typer.Option(help="Most replicas to move to or from one broker")
    ] = None
    max_replicas_per_broker: Annotated[
        int | None, typer.Option(help="Most replicas that a broker may hold")
    ] = None
    remove_brokers: Annotated[
        str, typer.Option(help="Brokers to empty: ids by commas, like 3,4")
    ] = ""
    add_brokers: Annotated[
        str, typer.Option(help="Brokers to fill: ids, or id:rack of brokers yet to be started")
    ] = ""
    exclude_brokers: Annotated[str, typer.Option(help="Brokers whose replicas must not change")] = (
        ""
    )
    topics: Annotated[
        str | None, typer.Option(help="Only these topics: a pattern, separate several by commas")
    ] = None
    exclude_topics: Annotated[
        str | None,
        typer.Option(help="Topics that must not change: a pattern, separate several by commas"),
    ] = None
    exclude_partitions: Annotated[
        str, typer.Option(help="Partitions that must not change, like orders-3,logs-0")
    ] = ""
    replication_factor: Annotated[
        list[str] | None, typer.Option(help="Wanted replicas of topics: T=N; may be repeated")
    ] = None
    leaders_only: Annotated[bool, typer.Option(help="Move leadership only, and no data")] = False
    above: Annotated[
        str | None, typer.Option(help="Only bring brokers under this share of capacity, like 85%")
    ] = None
    weights: Annotated[
        str,
        typer.Option(help="Of disk, in, out, cpu, replicas, leaders: disk=2,cpu=0; 0 leaves out"),
    ] = ""
    limits: Annotated[
        str, typer.Option(help="Share of each capacity that may be filled: disk=0.9,cpu=off")
    ] = ""
    strict_racks: Annotated[bool, typer.Option(help="Refuse more replicas than racks")] = False
    even_log_dirs: Annotated[
        bool, typer.Option(help="Also even out the log directories inside brokers")
    ] = False
    throttle: Annotated[
        str, typer.Option(help="Bytes per second in and out of a broker, for the estimated time")
    ] = "50MB"
    moves_at_once: Annotated[
        int, typer.Option(min=1, help="Copies at a time into and out of a broker")
    ] = 2
    seed: Annotated[
        int, typer.Option(help="Seed of the random search; the same seed gives the same plan")
    ] = 0

    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Seconds for bounds and search; a small cluster uses all of them. "
            "Without: a fixed number of steps. Ctrl-C takes the best plan so far",
        ),
    ] = None

    def goals(self) -> Goals:
        """The goals, as a value."""
        from kedge.balance import Goals, NewBroker

        general, single = _tolerances(self.tolerance)
        return Goals(
            tolerance=general,
            tolerances=single,
            weights=_shares(self.weights, "--weights"),
            limits={
                name: None if text == "off" else _limit(name, text)
                for name, text in _pairs(self.limits, "--limits")
            },
            max_bytes=None
            if self.max_bytes is None
            else parse_bytes(self.max_bytes, "--max-bytes"),
            max_moves=self.max_moves,
            max_moves_per_broker=self.max_moves_per_broker,
            max_replicas_per_broker=self.max_replicas_per_broker,
            remove_brokers=_ids(self.remove_brokers, "--remove-brokers"),
            add_brokers=tuple(
                NewBroker(broker.id, broker.rack)
                for broker in _brokers(self.add_brokers, "--add-brokers")
            ),
            exclude_brokers=_ids(self.exclude_brokers, "--exclude-brokers"),
            topics=self.topics,
            exclude_topics=self.exclude_topics,
            exclude_partitions=_partitions(self.exclude_partitions),
            replication_factor=_factors(self.replication_factor or []),
            leaders_only=self.leaders_only,
            above=None if self.above is None else _percent(self.above),
            strict_racks=self.strict_racks,
            even_log_dirs=self.even_log_dirs,
            rate_bytes_per_second=parse_rate(self.throttle, "--throttle"),
            moves_each_way=self.moves_at_once,
        )

    def cluster(self) -> Snapshot:
        """The snapshot of the cluster, from a file or from the live cluster."""
        from kedge.files import read_snapshot

        if (self.snapshot is None) == (not self.bootstrap_server):
            hint = "use either --snapshot FILE or --bootstrap-server host:port"
            raise InvalidRequest(
                "No cluster given" if not self.bootstrap_server else "Two clusters given", hint=hint
            )
        if self.snapshot is not None:
            return read_snapshot(self.snapshot)
        from kedge.cli.snapshot import live_snapshot

        return live_snapshot(self.bootstrap_server, self.command_config)


# ---- texts --------------------------------------------------------------------------------------


def _brokers(text: str, place: str) -> tuple[Any, ...]:
    return parse_brokers(text, place=place) if text else ()


def _ids(text: str, place: str) -> frozenset[int]:
    return frozenset(broker.id for broker in _brokers(text, place))


def _number(text: str, place: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not 0 <= number < float("inf"):
        raise MalformedNumber(f"{text!r} is not a number from 0", place=place)
    return number


def _share(text: str, place: str, *, hint: str) -> float:
    """A share from 0 to 1, also written in percent; a larger one lacks its percent sign."""
    bare = text.removesuffix("%")
    number = _number(bare, place)
    share = number if bare == text else number / 100
    if share > 1:
        raise InvalidRequest(f"{place}: {text} is more than 1 (100%)", hint=hint)
    return share


def _percent(text: str) -> float:
    return _share(text, "--above", hint=f"write {text}%" if _is_percentage(text) else "write 85%")


def _limit(name: str, text: str) -> float:
    return _share(text, "--limits", hint=f"write {name}=0.9, or {name}=off for no limit")


def _tolerance(text: str) -> float:
    hint = f"write {text}%" if _is_percentage(text) else "write 0.05 or 5%"
    return _share(text, "--tolerance", hint=hint)


def _is_percentage(text: str) -> bool:
    return text.isdigit() and int(text) <= 100


def _pairs(text: str, place: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for piece in filter(None, map(str.strip, text.split(","))):
        name, equals, value = piece.partition("=")
        if not equals:
            raise InvalidRequest(f"{place}: {piece!r} has no value", hint=f"write {name}=1")
        pairs.append((name.strip(), value.strip()))
    return pairs


def _shares(text: str, place: str) -> dict[str, float]:
    return {name: _number(value, place) for name, value in _pairs(text, place)}


def _tolerances(text: str) -> tuple[float, dict[str, float]]:
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    general = [_tolerance(piece) for piece in pieces if "=" not in piece]
    if len(general) > 1:
        raise InvalidRequest(
            f"--tolerance: {text!r} has two general values", hint="write 0.05,cpu=0.2"
        )
    named = _pairs(",".join(piece for piece in pieces if "=" in piece), "--tolerance")
    single = {name: _tolerance(value) for name, value in named}
    return general[0] if general else 0.05, single


def _factors(texts: list[str]) -> dict[str, int]:
    factors: dict[str, int] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not equals or not number.isdigit():
            what = f"--replication-factor: {text!r} is not topic=number"
            raise InvalidRequest(what, hint="write orders=3")
        factors[name] = int(number)
    return factors


def _partitions(text: str) -> frozenset[tuple[str, int]]:
    found: set[tuple[str, int]] = set()
    for piece in filter(None, map(str.strip, text.split(","))):
        topic, dash, number = piece.rpartition("-")
        if not dash or not number.isdigit():
            raise InvalidRequest(f"{piece!r} is not a partition", hint="write it like orders-3")
        found.add((topic, int(number)))
    return frozenset(found)
