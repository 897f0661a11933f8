"""Options that the commands of `kedge pipeline` share, and their earlier spellings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from kedge.cli.options import Output, note
from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.pipeline.session import SessionSettings

SAMPLES_TOPIC = "kedge.samples"  # of admin snapshots and scrapes, unless --topic names another
TablesOption = Annotated[
    str, typer.Option("--tables", help="Directory of the tables: a path, hdfs://… or s3a://…")
]
MasterOption = Annotated[
    str, typer.Option(help="Where Spark runs: local[N], spark://…, yarn, k8s://…, sc://…")
]
MemoryOption = Annotated[str, typer.Option(help="Heap of Spark's driver, as 2g")]
JarsOption = Annotated[str, typer.Option(help="More jars for Spark, separated by commas")]
BrokersTableOption = Annotated[
    str, typer.Option("--brokers", help="Table of brokers: Parquet, CSV or JSON lines")
]
AssignmentTableOption = Annotated[
    str, typer.Option("--assignment", help="Table of partitions and their replicas")
]
LimitOption = Annotated[int, typer.Option(help="Rows to show at most", min=1)]


class PipelineCommand(TyperCommand):
    """A command that also takes `--output DIR` and `--report FORM`, with a note on stderr."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Replace earlier spellings, then parse."""
        names = {name for parameter in self.params for name in parameter.opts}
        return super().parse_args(ctx, current_spellings(args, names))


def current_spellings(words: list[str], known: set[str]) -> list[str]:
    """A command line in today's spelling: `--tables DIR` and `--output table|json`."""
    current: list[str] = []
    value_of = ""
    for word in words:
        name, equals, value = word.partition("=")
        if value_of or (equals and name in ("--output", "--report")):
            name, value = (value_of, word) if value_of else (name, value)
            current += [_current_name(name, value, known), value]
            value_of = ""
        elif word in ("--output", "--report"):
            value_of = word
        else:
            current.append(word)
    return [*current, value_of] if value_of else current


def _current_name(name: str, value: str, known: set[str]) -> str:
    if name in known and (name != "--output" or value in list(Output) or "--tables" not in known):
        return name
    now = "--tables" if name == "--output" else "--output"
    note(f"{name} {value} is now {now} {value}")
    return now


def spark_settings(
    master: str,
    driver_memory: str,
    jars: str = "",
    *,
    kafka: bool = False,
    written: Sequence[str] = (),
) -> SessionSettings:
    """The settings of a Spark session, from the options as typed; `written` are its outputs."""
    from kedge.pipeline.session import SessionSettings, parse_jars
    from kedge.pipeline.tables.location import Location

    if not re.fullmatch(r"\d+[kmgt]", driver_memory, re.IGNORECASE):
        raise InvalidRequest(f"a heap of {driver_memory!r}", hint="write it like 2g")
    return SessionSettings(
        master=master,
        driver_memory=driver_memory,
        jars=parse_jars(jars),
        kafka=kafka,
        writes_locally=all(Location.of(place).is_local for place in written),
    )
