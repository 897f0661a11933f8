"""The options that name a Prometheus server and what to read from it."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.options import note
from kedge.errors import InvalidRequest
from kedge.model.parse_amounts import duration_s

if TYPE_CHECKING:
    from kedge.metrics.parsing.series_names import SeriesNames
    from kedge.pipeline.sources.prometheus_api import PrometheusAccess

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
WARNINGS_SHOWN = 3
BROKERS_SHOWN = 10
NUMBER_MAX = 10_000_000  # of any unit


@dataclass(frozen=True)
class ServerOptions:
    """Which server, which of its series, and how to authenticate there, as typed."""

    prometheus: Annotated[
        str,
        typer.Option(
            "--prometheus",
            help="URL of Prometheus, Thanos, Mimir or VictoriaMetrics",
        ),
    ] = ""
    prometheus_match: Annotated[
        str, typer.Option(help='Only series with these labels, like job="kafka",env="prod"')
    ] = ""
    prometheus_auth: Annotated[
        Path | None,
        typer.Option(
            help="TOML file with username and password, or token; also from the environment, "
            "KEDGE_PROMETHEUS_USERNAME, _PASSWORD, _TOKEN"
        ),
    ] = None
    prometheus_ca: Annotated[
        Path | None, typer.Option(help="Certificates that the server's is signed with (PEM)")
    ] = None
    prometheus_timeout: Annotated[
        float, typer.Option(help="Seconds to wait for an answer", min=0.1)
    ] = 30.0

    def access(self) -> PrometheusAccess:
        """Where the server is, with credentials from the file or the environment."""
        from kedge.pipeline.sources.prometheus_files import access_to

        return access_to(
            self.prometheus, self.prometheus_auth, self.prometheus_ca, self.prometheus_timeout
        )


@dataclass(frozen=True)
class PrometheusOptions(ServerOptions):
    """A server, and what to read from it."""

    prometheus_range: Annotated[
        str, typer.Option(help="The last hours or days to read, like 6h or 2d")
    ] = "6h"
    prometheus_step: Annotated[
        str, typer.Option(help="Time between values, like 30s; by the range without")
    ] = ""

    def time_range(self) -> tuple[float, float]:
        """How many seconds to read, and from one value to the next; 0: by the range."""
        step = seconds(self.prometheus_step, "--prometheus-step") if self.prometheus_step else 0
        return seconds(self.prometheus_range, "--prometheus-range"), step

    @contextmanager
    def downloaded(
        self,
        names: SeriesNames,
        *,
        start: float | None = None,
        end: float | None = None,
    ) -> Generator[list[Path]]:
        """The answers of the server as files, for the time of a block."""
        import time

        from kedge.pipeline.sources.prometheus_files import PrometheusSource

        length, step = self.time_range()
        until = time.time() if end is None else end
        since = until - length if start is None else start
        source = PrometheusSource(self.access(), self.prometheus_match)
        with source.downloaded(names, since, until, step) as files:
            yield files


def note_warnings(warnings: Mapping[str, int]) -> None:
    """Note what a server warned of: it may have left series out."""
    for text, answers in list(warnings.items())[:WARNINGS_SHOWN]:
        note(f"Prometheus warns ({answers} answers), values may be missing: {text}")


def note_unmeasured(brokers: Sequence[int]) -> None:
    """Note the brokers of which only the others tell."""
    if not brokers:
        return
    shown = ", ".join(map(str, brokers[:BROKERS_SHOWN]))
    more = f" and {len(brokers) - BROKERS_SHOWN} more" if len(brokers) > BROKERS_SHOWN else ""
    of, what = ("broker", "it leads") if len(brokers) == 1 else ("brokers", "they lead")
    note(
        f"no metrics of {of} {shown}{more}: bytes in of what {what} are estimated, "
        "bytes out are missing"
    )


def seconds(text: str, place: str) -> float:
    """A time with its unit, in seconds."""
    found = duration_s(text, UNITS) or 0.0
    if not 0 < found < NUMBER_MAX * UNITS.get(text[-1:], 0):
        raise InvalidRequest(f"{place} {text!r}", hint="write it like 30s, 6h or 2d")
    return found
