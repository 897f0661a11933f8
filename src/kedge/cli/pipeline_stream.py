"""`kedge pipeline stream` and `kedge pipeline produce`: metrics through a Kafka topic."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.connection import (
    BootstrapOption,
    CommandConfigOption,
    connected,
    echo_json,
    read_properties,
)
from kedge.cli.interrupts import stop_event
from kedge.cli.options import Output, OutputOption, echo, say
from kedge.cli.pipeline_options import (
    SAMPLES_TOPIC,
    AssignmentTableOption,
    BrokersTableOption,
    MasterOption,
    MemoryOption,
    PipelineCommand,
    TablesOption,
    spark_settings,
)
from kedge.cli.pipeline_sample import MissedSamples, endpoints_of, show_sample
from kedge.errors import InvalidRequest, KedgeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kedge.cluster.port import Cluster
    from kedge.pipeline.jobs.kafka_producer import SendRow
    from kedge.pipeline.jobs.stream import BatchResult, StreamResult
    from kedge.pipeline.sources.checkpoint import TopicIdentity

TOPIC = "kedge.metrics"
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

TopicOption = Annotated[str, typer.Option("--topic", help="The topic of metrics")]


def register(app: typer.Typer) -> None:
    """Add the commands to the group `pipeline`."""
    app.command("stream", cls=PipelineCommand)(stream_command)
    app.command("produce")(produce_command)


def stream_command(
    brokers: BrokersTableOption,
    assignment: AssignmentTableOption,
    checkpoint: Annotated[str, typer.Option(help="Directory that keeps how far it has got")],
    tables: TablesOption,
    topic: TopicOption = TOPIC,
    once: Annotated[bool, typer.Option("--once", help="Read what is there now, then end")] = False,
    interval: Annotated[str, typer.Option(help="Time between batches, with its unit")] = "60s",
    max_offsets: Annotated[int, typer.Option(help="Rows that a batch holds at most")] = 2_000_000,
    master: MasterOption = "local[2]",
    driver_memory: MemoryOption = "2g",
    jars: Annotated[
        str, typer.Option(help="Jars of the Kafka connector, separated by commas")
    ] = "",
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Stream metrics from a Kafka topic into the tables, each row exactly once

    Example: kedge pipeline stream --bootstrap-server localhost:9092 --brokers brokers.parquet
    --assignment assignment.parquet --checkpoint checkpoint/ --tables history/ --once
    """
    from kedge.pipeline.jobs.stream import StreamRequest, stream
    from kedge.pipeline.session import spark_session
    from kedge.pipeline.sources.kafka_reader import KafkaSource, check_kafka_connector

    client = read_properties(command_config)
    session = spark_settings(
        master, driver_memory, jars, kafka=not jars, written=[tables, checkpoint]
    )
    check_kafka_connector(session)
    request = StreamRequest(
        source=KafkaSource(bootstrap_server, topic, max_offsets, client),
        identity=_identity(bootstrap_server, command_config, topic),
        brokers=brokers,
        assignment=assignment,
        tables=tables,
        checkpoint=checkpoint,
        once=once,
        interval_s=round(seconds(interval)),
    )
    with stop_event() as stop:
        done = stream(
            request, lambda: spark_session(session), on_batch=_show_batch, stopped=stop.is_set
        )
    _show(done, output)


def _identity(bootstrap: str, command_config: Path | None, topic: str) -> TopicIdentity:
    from kedge.pipeline.sources.checkpoint import TopicIdentity

    with connected(bootstrap, command_config) as cluster:
        described = cluster.describe_topics([topic])[topic]
        if isinstance(described, KedgeError):
            raise described
        return TopicIdentity(cluster.describe().cluster_id, topic, described.topic_id)


def produce_command(
    topic: Annotated[
        str, typer.Option("--topic", help="The topic; kedge.metrics or kedge.samples without")
    ] = "",
    samples: Annotated[
        bool,
        typer.Option("--samples", help="Send admin snapshots and scrapes whole, not rows of them"),
    ] = False,
    scrape: Annotated[
        list[str] | None,
        typer.Option(help="With --samples: also scrape URL=BROKER; repeatable"),
    ] = None,
    interval: Annotated[str, typer.Option(help="Time between samples, with its unit")] = "60s",
    count: Annotated[int | None, typer.Option(help="Samples to take; on and on without")] = None,
    replayed: Annotated[
        Path | None, typer.Option("--from", help="Send what this file or directory has instead")
    ] = None,
    of: Annotated[
        str, typer.Option("--of", help="Sample this cluster (host:port), not the topic's own")
    ] = "",
    internal: Annotated[
        bool, typer.Option("--internal", help="Sample Kafka's own topics too")
    ] = False,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Send metrics to a Kafka topic: samples of a live cluster, or the rows of a file

    With --samples, what `kedge pipeline sample` takes goes to the topic in place of files, and
    `kedge pipeline ingest --source admin --topic` reads it from there.

    Example: kedge pipeline produce --bootstrap-server localhost:9092 --interval 60s --count 10
    """
    from kedge.pipeline.jobs.kafka_producer import kafka_sender

    client, missed = read_properties(command_config), MissedSamples()
    topic = topic or (SAMPLES_TOPIC if samples else TOPIC)
    if scrape and not samples:
        raise InvalidRequest("--scrape needs --samples")
    times = _SampleTimes(seconds(interval), count, missed)
    live = _LiveSource(of or bootstrap_server, command_config, times, scrape or [], internal)
    with connected(bootstrap_server, command_config) as cluster:
        _check_topic(cluster, topic)
    with kafka_sender(bootstrap_server, topic, client) as sender:
        _send_from(live if replayed is None else replayed, sender, samples=samples)
    if output is Output.JSON:
        echo_json({"topic": topic, "rows": sender.sent, "missed": missed.count})
    else:
        kind = "samples" if samples else "rows"
        echo(f"{sender.sent} {kind} sent to {topic}{missed.text}")


def _send_from(source: Path | _LiveSource, send: SendRow, *, samples: bool) -> None:
    """Send what files have, or what is sampled: whole samples, or the rows of them."""
    from kedge.pipeline.jobs.produce import replay
    from kedge.pipeline.sources.sample_records import sample_records

    match source, samples:
        case Path(), True:
            for value, key in sample_records(source):
                send(value, key)
        case Path(), False:
            replay(source, send)
        case _, True:
            source.send_samples(send)
        case _:
            source.send_rows(send)


@dataclass(frozen=True, slots=True)
class _SampleTimes:
    """When samples are taken, and what happens to one that fails."""

    pause_s: float
    count: int | None
    missed: MissedSamples


@dataclass(frozen=True, slots=True)
class _LiveSource:
    """A live cluster to sample."""

    bootstrap: str
    command_config: Path | None
    times: _SampleTimes
    scrape: list[str]
    internal: bool

    def send_samples(self, send: SendRow) -> None:
        """Sample at each interval, and send each sample once it is complete."""
        from kedge.pipeline.jobs.admin_sampler import AdminSampler
        from kedge.pipeline.jobs.produce import send_samples_periodically
        from kedge.pipeline.sources.offset_reader import KafkaOffsets

        endpoints, times = endpoints_of(self.scrape), self.times
        offsets = KafkaOffsets(self.bootstrap, read_properties(self.command_config))
        with (
            connected(self.bootstrap, self.command_config) as cluster,
            tempfile.TemporaryDirectory(prefix="kedge-samples-") as directory,
            stop_event() as stop,
        ):
            send_samples_periodically(
                AdminSampler(cluster, offsets, Path(directory), time.time, endpoints),
                send,
                interval_s=times.pause_s,
                count=times.count,
                wait=stop.wait,
                sampled=show_sample,
                missed=times.missed,
            )

    def send_rows(self, send: SendRow) -> None:
        """Sample at each interval, and send a row for each replica."""
        from kedge.pipeline.jobs.cluster_sampler import Sampler
        from kedge.pipeline.jobs.produce import sample_periodically

        with connected(self.bootstrap, self.command_config) as cluster, stop_event() as stop:
            sample_periodically(
                Sampler(cluster, internal=self.internal),
                send,
                interval_s=self.times.pause_s,
                count=self.times.count,
                wait=stop.wait,
                sampled=lambda rows: say(f"{rows} replicas sampled"),
                missed=self.times.missed,
            )


def _check_topic(cluster: Cluster, topic: str) -> None:
    described = cluster.describe_topics([topic])[topic]
    if isinstance(described, KedgeError):
        raise described


def seconds(text: str) -> float:
    """A time with its unit, as 500ms, 60s, 5m or 1h."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(number) :] or "s"
    try:
        value = float(number) * UNITS[unit]
    except (KeyError, ValueError):
        raise InvalidRequest(f"{text!r} is not a time", hint="write 500ms, 60s, 5m or 1h") from None
    if not 0 <= value <= 86_400 * 7:
        raise InvalidRequest(f"{text!r} is not a time between samples", hint="at most a week")
    return value


def _show_batch(batch: BatchResult) -> None:
    if batch.skipped:
        say(f"batch {batch.number}: in the tables already")
    else:
        say(f"batch {batch.number}: {batch.rows} rows")


def _show(done: StreamResult, output: Output) -> None:
    from dataclasses import asdict

    if output is Output.JSON:
        echo_json(asdict(done))
        return
    accounts: Mapping[str, Any] = asdict(done.accounts)
    echo(f"{done.rows} rows in {done.batches} batches; of all rows ever read:")
    for name, value in accounts.items():
        if isinstance(value, int):
            echo(f"  {name.replace('_', ' '):<12} {value:>12}")
