"""Cruise Control's topic on real brokers: batch and stream give the same tables, exactly once."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from kedge.cli.app import run
from kedge.errors import UnknownTopicOrPartition
from kedge.metrics.origins import Origin
from kedge.metrics.parsing.cluster_metadata import parse_leaders, parse_metadata
from kedge.pipeline.jobs.follow_records import RecordStream, follow_records
from kedge.pipeline.jobs.ingest_metrics import MetricsRequest, ingest_metrics
from kedge.pipeline.sources.record_spool import RecordTopic, spool_records
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.runs import last_run
from tests.metrics.parsing.examples import record
from tests.pipeline.oracle import query, scan
from tests.real.clusters import kraft

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(1800)]

TOPIC = "cruise-control-metrics"
HALF = 500_000
START = 1_800_000_000
METADATA = parse_metadata(b'{"cluster": "lab", "brokers": [{"id": 1}, {"id": 2}]}')
STATE = {"a.b": {"0": [2, [2, 1], [2]], "1": [2, [2, 1], [2]]}}
LEADERS = parse_leaders(json.dumps([{"ts": START, "topics": STATE}]).encode())
COLUMNS = "topic, partition, broker, ts, bytes_in, bytes_out, size_bytes, in_by, out_by"
Opened = Callable[[], AbstractContextManager[SparkSession]]


def records(first: int, last: int) -> list[bytes]:
    """What broker 2 reports in these minutes, and two records that are none."""
    made: list[bytes] = [b"\x00\x00", b'{"foreign": true, "padding": "0123456789"}']
    for minute in range(first, last):
        at = (START + 60 * minute) * 1000
        values = [record(1, 2, 400.0, "a_b"), record(1, 3, 800.0, "a_b"), record(0, 5, 0.5)]
        sizes = [record(2, 4, 6000.0 * minute * share, "a_b", p) for p, share in ((0, 3), (1, 1))]
        made += [value[:3] + at.to_bytes(8, "big") + value[11:] for value in (*values, *sizes)]
    return made


def produce(bootstrap: str, values: list[bytes]) -> None:
    producer: Any = Producer({"bootstrap.servers": bootstrap})
    for i, value in enumerate(values):
        producer.produce(TOPIC, value, partition=i % 2)
    assert producer.flush(30) == 0


def rows(tables: Path) -> list[tuple[Any, ...]]:
    return query(f"select {COLUMNS} from {scan(tables, 'silver')} order by all")


def test_stream_and_batch_give_the_same_tables(
    opened: Opened, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    bootstrap = kraft(pytestconfig).bootstrap
    create = ("topics", "create", "--bootstrap-server", bootstrap, "--topic", TOPIC)
    assert run([*create, "--replica-assignment", "1,2"]) == 0
    source = RecordTopic(bootstrap, TOPIC, "lab", {})
    streamed, batch = tmp_path / "streamed", tmp_path / "batch"
    produce(bootstrap, records(0, 5))
    rounds = iter((False, False, True))

    def wait() -> bool:
        """Between the batches of the stream more records arrive, once."""
        ended = next(rounds)
        if not ended and not streamed_all:
            produce(bootstrap, records(5, 8))
            streamed_all.append(True)
        return ended

    streamed_all: list[bool] = []
    stream = RecordStream(source, lambda: (METADATA, LEADERS), streamed, max_records=20)
    done = follow_records(stream, lambda _: opened(), wait=wait)
    assert done is not None
    assert done.accounts.quarantined_by_reason == {"unparsable": 4}
    assert follow_records(stream, lambda _: opened(), wait=lambda: True) is None
    batch_files = tmp_path / "files"
    batch_files.mkdir()
    lines = [
        json.dumps({"value": b64encode(value).decode()})
        for value in (*records(0, 5), *records(5, 8))
    ]
    (batch_files / "records.jsonl").write_text("\n".join(lines) + "\n")
    request = MetricsRequest(batch_files, Origin.CRUISE_CONTROL, METADATA, batch, LEADERS)
    whole = ingest_metrics(request, lambda _: opened())
    assert rows(streamed) == rows(batch)
    assert len(rows(batch)) > 10
    assert whole.accounts.kept == done.accounts.kept
    assert whole.accounts.quarantined == 4


def many_records(topics: int, minutes: int) -> Iterator[bytes]:
    """Rates and sizes of topics of ten partitions; every thousandth is truncated or foreign."""
    count = 0
    for minute in range(minutes):
        at = ((START + 60 * minute) * 1000).to_bytes(8, "big")
        for topic in range(topics):
            name = f"topic_{topic}"
            made = [record(1, 2, 1000.0, name), record(1, 3, 2000.0, name), record(0, 5, 0.5)]
            made += [record(2, 4, 6000.0 * minute * (p + 1), name, p) for p in range(10)]
            for value in made:
                count += 1
                whole = value[:3] + at + value[11:]
                yield whole if count % 1000 else (whole[:9] if count % 2000 else b"foreign")


def ingested(*words: str) -> subprocess.Popen[bytes]:
    """`kedge pipeline ingest` in a process of its own: two Spark sessions need two processes."""
    program = str(Path(sys.executable).with_name("kedge"))
    return subprocess.Popen([program, "pipeline", "ingest", *words], stdout=subprocess.DEVNULL)


def consumed(tables: Path) -> int:
    """Records of the topic that are in the tables."""
    run = last_run(Location.of(tables))[0]
    return 0 if run is None else sum(run.manifest.streams.values())


def wait_until(reached: Callable[[], bool], stream: subprocess.Popen[bytes]) -> None:
    while not reached():
        assert stream.poll() is None
        time.sleep(1)


def test_a_million_records_by_stream_and_in_batch_give_the_same_tables(
    tmp_path: Path, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    """The stream reads while records arrive, and stops when it is told to."""
    bootstrap, topic = kraft(pytestconfig).bootstrap, "cruise-control-million"
    create = ("topics", "create", "--bootstrap-server", bootstrap, "--topic", topic)
    assert run([*create, "--partitions", "4", "--replication-factor", "1"]) == 0
    topics, minutes = 320, 241
    state = {f"topic_{t}": {str(p): [2, [2, 1], [2]] for p in range(10)} for t in range(topics)}
    (tmp_path / "leaders.json").write_text(json.dumps([{"ts": START, "topics": state}]))
    brokers = {"cluster": "lab", "brokers": [{"id": 1}, {"id": 2}]}
    (tmp_path / "metadata.json").write_text(json.dumps(brokers))
    given = ["--source", "cruise-control", "--metadata", f"{tmp_path}/metadata.json"]
    given += ["--leaders", f"{tmp_path}/leaders.json"]
    streamed, batch = tmp_path / "streamed", tmp_path / "batch"
    from_topic = ("--bootstrap-server", bootstrap, "--topic", topic, "--every", "1s")
    producer: Any = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    files, count = tmp_path / "files", 0
    files.mkdir()
    began = time.monotonic()
    stream = ingested(*given, *from_topic, "--tables", str(streamed))
    try:
        with (files / "records.jsonl").open("w") as lines:
            for value in many_records(topics, minutes):
                while True:
                    try:
                        producer.produce(topic, value, partition=count % 4)
                        break
                    except BufferError:
                        producer.poll(0.2)
                lines.write(json.dumps({"value": b64encode(value).decode()}) + "\n")
                count += 1
                if count == HALF:  # the rest arrives after a first run
                    producer.flush(120)
                    wait_until(lambda: consumed(streamed) > 0, stream)
        assert producer.flush(120) == 0
        wait_until(lambda: consumed(streamed) == count, stream)
        by_stream = time.monotonic() - began
        stream.send_signal(signal.SIGTERM)
        assert stream.wait(120) == 0
    finally:
        stream.kill()
        stream.wait()
    assert count > 1_000_000
    began = time.monotonic()
    assert ingested(*given, "--input", str(files), "--tables", str(batch)).wait() == 0
    in_batch = time.monotonic() - began
    runs = [last_run(Location.of(tables))[0] for tables in (streamed, batch)]
    assert runs[0] is not None
    assert runs[1] is not None
    assert runs[0].number > 1
    with capsys.disabled():
        ways = f"stream {by_stream:.0f} s in {runs[0].number} runs, batch {in_batch:.0f} s"
        print(f"\n{count:,} records: {ways}")
    accounts, wanted = (one.manifest.accounts for one in runs if one is not None)
    assert accounts.quarantined == wanted.quarantined == count // 1000
    assert accounts.kept == wanted.kept
    for one, other in ((streamed, batch), (batch, streamed)):
        differ = (
            f"(select {COLUMNS} from {scan(one, 'silver')} except "
            f"select {COLUMNS} from {scan(other, 'silver')})"
        )
        assert query(f"select count(*) from {differ}") == [(0,)]
    assert query(f"select count(*) from {scan(batch, 'silver')}")[0][0] == wanted.kept


def test_scrapes_and_snapshots_through_a_topic_give_the_tables_of_their_files(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Produced twice, with records of others between, and read in two runs: each counts once."""
    bootstrap, topic = kraft(pytestconfig).bootstrap, "samples"
    server = ("--bootstrap-server", bootstrap)
    create = ("topics", "create", *server, "--topic", topic)
    assert run([*create, "--partitions", "3", "--replication-factor", "1"]) == 0
    recorded = Path(__file__).parents[1] / "metrics" / "data" / "recording"
    first, second = tmp_path / "first", tmp_path / "second"
    for kind in ("scrape", "admin"):
        shutil.copytree(recorded / kind, second / kind)
    for path in sorted((second / "scrape").rglob("*.gz")):
        if int(path.name.split(".")[0]) % 60 < 30:
            (first / path.relative_to(second)).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, first / path.relative_to(second))
    described = ("--metadata", f"{recorded}/metadata.json", "--leaders")
    described = (*described, f"{recorded}/leaders.json.gz")
    streamed, batch = tmp_path / "streamed", tmp_path / "batch"
    ingest = ("--source", "scrape", *described, "--tables")
    producer: Any = Producer({"bootstrap.servers": bootstrap})
    for part in (first, second, first):
        sent = ("pipeline", "produce", "--samples", "--topic", topic, "--from", str(part))
        assert run([*sent, *server]) == 0
        producer.produce(topic, b"not a sample", key=b"../escape")
        assert producer.flush(30) == 0
        assert ingested(*ingest, str(streamed), *server, "--topic", topic).wait() == 0
    before = consumed(streamed)
    assert ingested(*ingest, str(streamed), *server, "--topic", topic).wait() == 0
    assert consumed(streamed) == before
    groups = ("--groups", f"{recorded}/admin")
    assert ingested(*ingest, str(batch), "--input", f"{recorded}/scrape", *groups).wait() == 0
    assert rows(streamed) == rows(batch)
    assert len(rows(batch)) > 1000
    reasons = query(f"select count(*), min(reason) from {scan(streamed, 'quarantine')}")
    assert reasons == [(3, "unparsable")]


@pytest.mark.parametrize(
    ("origin", "hint"),
    [(Origin.CRUISE_CONTROL, "Cruise Control"), (Origin.ADMIN, "pipeline produce --samples")],
)
def test_a_missing_topic_is_told_with_what_fills_it(
    origin: Origin, hint: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    source = RecordTopic(kraft(pytestconfig).bootstrap, "no-such-topic", "lab", {}, origin)
    with pytest.raises(UnknownTopicOrPartition, match="no topic no-such-topic") as refused:
        spool_records(source, {}, tmp_path)
    assert hint in refused.value.hint
