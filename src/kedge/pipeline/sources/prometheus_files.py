"""Some hours of a Prometheus server's series as files, and the credentials to get them with."""

from __future__ import annotations

import os
import tempfile
import time
import tomllib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kedge.cluster.access import Secret
from kedge.errors import MalformedInput
from kedge.files import read_text
from kedge.metrics.parsing.series_mapping import MappedNames
from kedge.metrics.parsing.series_names import SeriesNames
from kedge.pipeline.sources.prometheus_api import PrometheusAccess, PrometheusApi
from kedge.pipeline.sources.prometheus_range import RangeRequest, default_step, download

ENVIRONMENT: Final = {
    "username": "KEDGE_PROMETHEUS_USERNAME",
    "password": "KEDGE_PROMETHEUS_PASSWORD",
    "token": "KEDGE_PROMETHEUS_TOKEN",
    "tenant": "KEDGE_PROMETHEUS_TENANT",
}


@dataclass(frozen=True, slots=True)
class PrometheusSource:
    """A server, and which of its series: label matchers, as `job="kafka"`."""

    access: PrometheusAccess
    matchers: str = ""

    @contextmanager
    def downloaded(
        self, names: SeriesNames, start: float, end: float, step: float = 0
    ) -> Generator[list[Path]]:
        """The answers about a time, as files for the time of a block; a step of 0 is chosen."""
        step = step or default_step(end - start)
        # on multiples of the step: the same time gives the same answers
        start, end = start - start % step, end - end % step
        more = names.patterns if isinstance(names, MappedNames) else ()
        request = RangeRequest(start, end, step, self.matchers, more)
        api = PrometheusApi(self.access, time.sleep)
        with tempfile.TemporaryDirectory(prefix="kedge-prometheus-") as directory:
            yield download(api, request, Path(directory))


def access_to(
    url: str, auth: Path | None = None, ca: Path | None = None, timeout_s: float = 30.0
) -> PrometheusAccess:
    """Where a server is, with credentials from a file or from the environment."""
    given = {key: os.environ.get(name, "") for key, name in ENVIRONMENT.items()}
    if auth is not None:
        given |= _credentials(auth)
    return PrometheusAccess(
        url,
        given["username"],
        Secret(given["password"]),
        Secret(given["token"]),
        given["tenant"],
        ca,
        timeout_s,
    )


def _credentials(path: Path) -> Mapping[str, str]:
    """The credentials in a file; what is wrong is reported without its content."""
    try:
        found: dict[str, Any] = tomllib.loads(read_text(path))
    except (ValueError, RecursionError):
        hint = 'write lines like token = "…"'
        raise MalformedInput("cannot be parsed as TOML", place=str(path), hint=hint) from None
    for key, value in found.items():
        if key not in ENVIRONMENT or not isinstance(value, str):
            hint = f"keys: {', '.join(ENVIRONMENT)}, each with a text"
            raise MalformedInput(f"key {key} is unknown or no text", place=str(path), hint=hint)
    return found
