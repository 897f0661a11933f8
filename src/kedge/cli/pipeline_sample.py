"""`kedge pipeline sample`: what admin requests and endpoints tell of a live cluster, as files."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from kedge.cli.connection import (
    BootstrapOption,
    CommandConfigOption,
    connected,
    echo_json,
    read_properties,
)
from kedge.cli.interrupts import stop_event
from kedge.cli.options import Output, OutputOption, echo, note, say
from kedge.cli.prometheus_options import seconds
from kedge.errors import InvalidRequest, KedgeError


def register(app: typer.Typer) -> None:
    """Add the command to the group `pipeline`."""
    app.command("sample")(sample_command)


def sample_command(
    out: Annotated[Path, typer.Option("--out", help="Directory of the samples")],
    every: Annotated[str, typer.Option(help="Time between samples, like 60s")] = "60s",
    duration: Annotated[
        str, typer.Option("--for", help="How long, like 10m; on and on without")
    ] = "",
    scrape: Annotated[
        list[str] | None,
        typer.Option(help="Also scrape URL=BROKER, like http://b1:7071/metrics=1; repeatable"),
    ] = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Sample a cluster without any agent: log sizes, offsets, committed offsets of groups

    Then: kedge pipeline ingest --source admin --input OUT/admin --metadata OUT/metadata.json
    --leaders OUT/leaders.json.gz --tables history/

    Example: kedge pipeline sample --bootstrap-server localhost:9092 --out samples/ --for 10m
    """
    from kedge.pipeline.jobs.admin_sampler import AdminSampler, sample_into_files
    from kedge.pipeline.sources.offset_reader import KafkaOffsets

    endpoints = endpoints_of(scrape or ())
    pause = seconds(every, "--every")
    length = seconds(duration, "--for") if duration else None
    offsets = KafkaOffsets(bootstrap_server, read_properties(command_config))

    missed = MissedSamples()
    with connected(bootstrap_server, command_config) as cluster, stop_event() as stop:
        sampler = AdminSampler(cluster, offsets, out, time.time, endpoints)
        taken = sample_into_files(
            sampler,
            every_s=pause,
            for_s=length,
            wait=stop.wait,
            sampled=show_sample,
            missed=missed,
        )
    if output is Output.JSON:
        echo_json({"out": str(out), "samples": taken, "missed": missed.count})
    else:
        echo(f"{taken} samples in {out}{missed.text}")


def show_sample(replicas: int, faults: list[str]) -> None:
    """Show what a sample has, and what it could not read."""
    say(f"{replicas} replicas sampled")
    for fault in faults:
        note(fault)


class MissedSamples:
    """Shows each sample that failed, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, error: KedgeError) -> None:
        self.count += 1
        note(f"a sample is missed: {error}")

    @property
    def text(self) -> str:
        """What is added to the last sentence."""
        return f", {self.count} missed" if self.count else ""


def endpoints_of(texts: Iterable[str]) -> dict[int, str]:
    """The URL of each broker, of URL=BROKER."""
    return dict(_endpoint(text) for text in texts)


def _endpoint(text: str) -> tuple[int, str]:
    url, _, broker = text.rpartition("=")
    if not broker.isdecimal() or urlsplit(url).scheme not in ("http", "https"):
        hint = "write it like http://b1:7071/metrics=1"
        raise InvalidRequest(f"--scrape {text!r} is not URL=BROKER", hint=hint)
    return int(broker), url
