"""Metrics of other systems through Spark into the tables, and rates out of them."""

from __future__ import annotations

import gzip
import json
import shutil
from base64 import b64encode
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kedge.cli.app import run
from kedge.cli.options import Output
from kedge.cli.pipeline_ingest import show_run
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation
from kedge.errors import InvalidRequest
from kedge.files import read_snapshot
from kedge.metrics.origins import Origin
from kedge.metrics.parsing.cluster_metadata import parse_leaders, parse_metadata
from kedge.model import Broker, BrokerId
from kedge.pipeline.jobs.ingest import IngestResult
from kedge.pipeline.jobs.ingest_metrics import MetricsRequest, ingest_metrics
from kedge.pipeline.load_snapshots import parse_load_statistic, snapshot_at
from kedge.pipeline.rates_reader import PartitionRate, read_rates
from kedge.wiring import clusters_from
from tests.metrics.parsing.examples import record
from tests.pipeline.oracle import query, scan

KMINION = 'topic_name="c",partition_id="0"'
MIDNIGHT = 1_799_971_200  # 2027-01-15
START, END = MIDNIGHT - 300, MIDNIGHT + 300
METADATA = {"cluster": "lab", "brokers": [{"id": 1, "rack": "a"}, {"id": 2, "rack": "b"}]}
RATES = {("a.b", 0): 300.0, ("a.b", 1): 100.0, ("c", 0): 50.0}  # bytes in per second

pytestmark = pytest.mark.real

Opened = Callable[[], AbstractContextManager[SparkSession]]


def scrape(at: int, broker: int, *, underscores: bool = False) -> str:
    """What a broker that leads everything (1), or follows (2), exports at a moment."""
    lines: list[str] = ["# TYPE kafka_log_log_size gauge", "jvm_threads_current 7"]
    since = at - START
    of = '{request="Produce",quantile="0.50",}'
    lines.append(f"kafka_network_requestmetrics_totaltimems{of} {broker * 5 + at % 60 / 10}")
    for topic in ("a.b", "c"):
        name = topic.replace(".", "_") if underscores else topic
        total = sum(rate for (t, _), rate in RATES.items() if t == topic)
        meter = "kafka_server_brokertopicmetrics_bytes"
        if broker == 1:
            lines.append(f'{meter}in_total{{topic="{name}"}} {total * since}')
            lines.append(f'{meter}out_total{{topic="{name}"}} {2 * total * since}')
        for (t, partition), rate in RATES.items():
            if t == topic:
                of = f'{{topic="{name}",partition="{partition}",}}'
                lines.append(f"kafka_log_log_size{of} {rate * since}")
                lines.append(f"kafka_log_log_logendoffset{of} {rate * since / 10}")
                lines.append(f"kafka_log_log_logstartoffset{of} 0")
                lines.append(f"kafka_cluster_partition_replicascount{of} {2 if broker == 1 else 0}")
    return "\n".join(lines) + "\n"


def write_scrapes(directory: Path, *, until: int = END, **options: Any) -> Path:
    for broker in (1, 2):
        (directory / str(broker)).mkdir(parents=True, exist_ok=True)
        for at in range(START, until + 1, 30):
            text = gzip.compress(scrape(at, broker, **options).encode(), mtime=0)
            (directory / str(broker) / f"{at}.prom.gz").write_bytes(text)
    return directory


def ingested(
    opened: Opened, source: Path, tables: Path, origin: Origin = Origin.SCRAPE, **more: Any
) -> IngestResult:
    metadata = parse_metadata(json.dumps(METADATA).encode())
    request = MetricsRequest(source, origin, metadata, tables, **more)
    return ingest_metrics(request, lambda _: opened())


def by_partition(rates: list[PartitionRate]) -> dict[tuple[str, int], float]:
    return {(rate.topic, rate.partition): rate.in_bytes_per_s for rate in rates}


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory, opened: Opened) -> tuple[Path, Path]:
    """Scrapes of ten minutes around midnight, and the tables made of them."""
    directory = tmp_path_factory.mktemp("scraped")
    source = write_scrapes(directory / "scrape")
    (source / "1" / f"{START + 15}.prom").write_text("kafka_log_log_size{ 3\n")
    ingested(opened, source, directory / "tables")
    return source, directory / "tables"


def test_rates_of_scrapes_are_those_of_the_brokers_also_across_midnight(
    scraped: tuple[Path, Path],
) -> None:
    found = read_rates(scraped[1], "lab")
    assert by_partition(found) == pytest.approx(RATES, rel=1e-3)
    assert {rate.in_by for rate in found} == {"offsets"}
    around = read_rates(scraped[1], "lab", start=MIDNIGHT - 45, end=MIDNIGHT + 45)
    assert by_partition(around) == pytest.approx(RATES, rel=1e-3)
    out = {(r.topic, r.partition): r.out_bytes_per_s for r in found}
    assert out == pytest.approx({key: 2 * rate for key, rate in RATES.items()}, rel=1e-3)


def test_no_interval_is_lost_or_twice_at_the_border_of_two_days(
    scraped: tuple[Path, Path],
) -> None:
    silver = scan(scraped[1], "silver")
    rows = query(
        f"select count(*), count(distinct ts), min(ts), max(ts) from {silver} "
        "where topic = 'c' and is_leader"
    )
    assert rows[0][0] == rows[0][1] == 10


def test_malformed_lines_are_quarantined_with_their_text(scraped: tuple[Path, Path]) -> None:
    rows = query(f"select reason, raw, file from {scan(scraped[1], 'quarantine')}")
    assert len(rows) == 1
    assert rows[0][0] == "unparsable"
    assert "kafka_log_log_size{ 3" in rows[0][1]
    assert rows[0][2].endswith(f"{START + 15}.prom")


def test_latencies_of_brokers_are_there_by_minute_after_every_run(
    scraped: tuple[Path, Path],
) -> None:
    found = query(
        f"select broker, count(*), min(produce_latency_ms), max(produce_latency_ms), "
        f"count(flush_time_ms) from {scan(scraped[1], 'gold/broker_health')} "
        "group by broker order by broker"
    )
    # scrapes at :00 and :30; the last minute has one
    assert found == [(1, 11, 5.0, 6.5, 0), (2, 11, 10.0, 11.5, 0)]


def test_a_second_run_ingests_nothing(scraped: tuple[Path, Path], opened: Opened) -> None:
    again = ingested(opened, *scraped)
    assert (again.files, again.rows) == (0, 0)


def test_snapshots_have_the_loads_and_the_measured_assignment(
    scraped: tuple[Path, Path],
) -> None:
    snapshot = snapshot_at(scraped[1], "lab", parse_load_statistic("p50"))
    assert dict(zip(snapshot.assignment.keys(), snapshot.bytes_in.tolist(), strict=True)) == (
        pytest.approx({key: RATES[key] for key in snapshot.assignment.keys()}, rel=1e-2)  # noqa: SIM118
    )
    assert snapshot.assignment.replicas.tolist() == [[1, 2]] * 3


def planned_rates(directory: Path) -> dict[Any, float]:
    """Bytes in by partition, of the snapshot that is kept beside a plan."""
    (taken,) = (path for path in directory.iterdir() if "snapshot" in path.name)
    snapshot = read_snapshot(taken)
    return dict(zip(snapshot.assignment.keys(), snapshot.bytes_in.tolist(), strict=True))


def cluster_with_a_new_topic() -> MemoryCluster:
    """The cluster of the tables, with a topic that they do not have."""
    cluster = MemoryCluster([Broker(BrokerId(each)) for each in (1, 2)])
    placed = {topic: {p: [BrokerId(1)] for t, p in RATES if t == topic} for topic in ("a.b", "c")}
    placed["new"] = {0: [BrokerId(2)]}
    made = [TopicCreation(topic, assignment=of_topic) for topic, of_topic in placed.items()]
    cluster.create_topics(made, validate_only=False)
    return cluster


def test_plans_have_the_loads_of_the_tables(
    scraped: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the assignment in the tables, and of a cluster that has one more topic by now."""
    history = ("plan", "--loads", str(scraped[1]), "--at", "p95", "--out")
    (tmp_path / "alone").mkdir()
    assert run([*history, str(tmp_path / "alone" / "plan.json")]) == 0
    assert planned_rates(tmp_path / "alone") == pytest.approx(RATES, rel=1e-2)
    cluster = cluster_with_a_new_topic()
    (tmp_path / "live").mkdir()
    live = ("--bootstrap-server", "here:1", "--cluster", "lab")
    capsys.readouterr()
    with clusters_from(lambda *_: cluster):
        assert run([*history, str(tmp_path / "live" / "plan.json"), *live]) == 0
    assert "loads (p95) of 3 of 4 partitions" in capsys.readouterr().err
    found = planned_rates(tmp_path / "live")
    assert {key: found[key] for key in RATES} == pytest.approx(RATES, rel=1e-2)
    assert run([*history[:3], "--at", "p96", *live]) == 2


def test_jobs_have_the_loads_of_the_tables(
    scraped: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = ("--loads", str(scraped[1]), "--cluster", "lab", "--at", "mean")
    live = ("--bootstrap-server", "here:1", "--state", str(tmp_path), "--yes")
    with clusters_from(lambda *_: cluster_with_a_new_topic()):
        assert run(["drain", "1", *tables, *live]) == 0
    assert "loads (mean) of 3 of 4 partitions" in capsys.readouterr().err
    (plan,) = tmp_path.rglob("plan.json")
    found = planned_rates(plan.parent)
    assert {key: found[key] for key in RATES} == pytest.approx(RATES, rel=1e-2)


def reported(minute: int, broker: int, *, told_by_traffic: bool) -> list[bytes]:
    """What Cruise Control's reporter sends of a broker whose traffic grows each minute."""
    rate = 1e6 * (1 + minute / 20 + broker)
    cpu = 0.1 + 2e-7 * rate if told_by_traffic else 0.2 + 0.1 * (minute % 2)
    values = [record(0, 0, rate), record(0, 1, 0.0), record(0, 5, cpu)]
    values += [record(1, 2, rate, "c"), record(2, 4, 1e6 * minute, "c", broker - 1)]
    head = (START + 60 * minute) * 1000, broker
    moment = head[0].to_bytes(8, "big") + head[1].to_bytes(4, "big")
    return [value[:3] + moment + value[15:] for value in values]


@pytest.mark.parametrize("told_by_traffic", [True, False])
def test_snapshots_of_the_tables_have_the_cpu_model_where_traffic_explains_the_cpu(
    told_by_traffic: bool, opened: Opened, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [
        value
        for minute in range(40)
        for broker in (1, 2)
        for value in reported(minute, broker, told_by_traffic=told_by_traffic)
    ]
    lines = (json.dumps({"value": b64encode(value).decode()}) for value in values)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "records.jsonl").write_text("\n".join(lines) + "\n")
    state = {"c": {str(p): [p + 1, [p + 1], [p + 1]] for p in (0, 1)}}
    leaders = parse_leaders(json.dumps([{"ts": START, "topics": state}]).encode())
    tables = tmp_path / "tables"
    ingested(opened, tmp_path / "files", tables, Origin.CRUISE_CONTROL, leaders=leaders)
    stored = read_snapshot(tables / "gold" / "snapshot" / "lab").cpu_model
    assert stored == snapshot_at(tables, "lab", parse_load_statistic("mean")).cpu_model
    plan = ("plan", "--loads", str(tables), "--out", str(tmp_path / "plan.json"))
    assert run([*plan]) == 0
    assert ("cpu: balanced by the model" in capsys.readouterr().err) == told_by_traffic
    if told_by_traffic:
        assert stored is not None
        assert stored.leader_in == pytest.approx(100 * 2e-7, rel=0.05)
    else:
        assert stored is None


def test_the_command_prints_rates_without_spark(
    scraped: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["pipeline", "rates", "--tables", str(scraped[1]), "--cluster", "lab"]
    assert run([*words, "--output", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert set(rows[0]) == {
        *("cluster", "topic", "partition", "in_bytes_per_s", "out_bytes_per_s"),
        *("in_by", "out_by"),
    }
    assert run([*words, "--from", "5", "--to", "4"]) == 2
    assert run([*words[:-1], "other"]) == 2
    assert run([*words, "--from", "5", "--to", "6"]) == 2


def test_later_measurements_replace_the_samples_made_of_fewer(
    scraped: tuple[Path, Path], opened: Opened, tmp_path: Path
) -> None:
    tables = tmp_path / "tables"
    shutil.copytree(scraped[1], tables)
    done = ingested(opened, write_snapshots(tmp_path / "admin"), tables, Origin.ADMIN)
    assert done.accounts.superseded == done.accounts.kept
    rates = {(r.topic, r.partition): r for r in read_rates(tables, "lab")}
    assert rates["a.b", 0].out_by == "commits"
    assert rates["a.b", 0].out_bytes_per_s == pytest.approx(800, rel=0.02)
    assert rates["a.b", 1].out_bytes_per_s == pytest.approx(0, abs=5)
    assert by_partition(list(rates.values())) == pytest.approx(RATES, rel=1e-3)


def test_topic_names_are_restored_by_the_leaders(opened: Opened, tmp_path: Path) -> None:
    source = write_scrapes(tmp_path / "scrape", until=START + 120, underscores=True)
    state = {t: {"0": [1, [1, 2], [1, 2]], "1": [1, [2, 1], [1]]} for t in ("a.b", "c")}
    leaders = parse_leaders(json.dumps([{"ts": START, "topics": state}]).encode())
    ingested(opened, source, tmp_path / "tables", leaders=leaders)
    found = by_partition(read_rates(tmp_path / "tables", "lab"))
    assert {key: found[key] for key in RATES} == pytest.approx(RATES, rel=1e-3)


def test_topic_names_are_restored_by_snapshots_beside_the_metrics_and_by_the_tables(
    opened: Opened, tmp_path: Path
) -> None:
    early = write_scrapes(tmp_path / "scrape", until=START + 120, underscores=True)
    tables = tmp_path / "tables"
    ingested(opened, early, tables, groups=write_snapshots(tmp_path / "admin"))
    assert by_partition(read_rates(tables, "lab")) == pytest.approx(RATES, rel=0.02)
    ingested(opened, write_scrapes(tmp_path / "more", underscores=True), tables)
    assert by_partition(read_rates(tables, "lab")) == pytest.approx(RATES, rel=1e-3)


def test_files_without_needed_series_and_missing_files_are_refused(
    opened: Opened, tmp_path: Path
) -> None:
    (tmp_path / "1").mkdir()
    with pytest.raises(InvalidRequest, match="has no file of scrape"):
        ingested(opened, tmp_path, tmp_path / "tables")
    (tmp_path / "1" / f"{START}.json").write_text(
        '{"status":"success","data":{"resultType":"matrix","result":[]}}'
    )
    with pytest.raises(InvalidRequest, match="without a series that is needed"):
        ingested(opened, tmp_path, tmp_path / "tables", Origin.PROMETHEUS)
    (tmp_path / "1" / f"{START}.json").write_text("{}")
    with pytest.raises(InvalidRequest, match="none of 1 files is an answer of query_range"):
        ingested(opened, tmp_path / "1", tmp_path / "tables", Origin.PROMETHEUS)
    assert not (tmp_path / "tables" / "runs").exists()


def write_snapshots(directory: Path) -> Path:
    """Partition 1 of a.b is not read; all that leaves the topic is read from partition 0."""
    directory.mkdir()
    for at in range(START, END + 1, 60):
        committed = {"a.b": {"0": 80 * (at - START), "1": 0}}
        snapshot = {"ts": at, "log_dirs": [], "groups": {"g": committed}, "groups_ts": at}
        (directory / f"{at}.json").write_text(json.dumps(snapshot))
    return directory


def test_committed_offsets_beside_the_metrics_are_ingested_in_the_same_run(
    opened: Opened, tmp_path: Path
) -> None:
    source = write_scrapes(tmp_path / "scrape", until=START + 180)
    groups = write_snapshots(tmp_path / "admin")
    done = ingested(opened, source, tmp_path / "tables", groups=groups)
    assert done.accounts.superseded == 0
    assert done.files == 2 * 7 + 11
    assert done.values_without_samples == 0
    assert done.unmeasured == ()
    rates = {
        (r.topic, r.partition): r
        for r in read_rates(tmp_path / "tables", "lab", start=START, end=START + 180)
    }
    assert rates["a.b", 0].out_by == "commits"
    assert rates["a.b", 0].out_bytes_per_s == pytest.approx(800, rel=0.02)
    assert rates["a.b", 1].out_bytes_per_s == pytest.approx(0, abs=5)


def test_values_that_no_sample_can_be_made_of_are_noted(
    opened: Opened, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kminion tells neither leaders nor sizes of replicas."""
    (tmp_path / "in").mkdir()
    for at in range(START, START + 181, 60):
        text = f"kminion_kafka_topic_partition_high_water_mark{{{KMINION}}} {at - START}\n"
        text += f"kminion_kafka_topic_partition_low_water_mark{{{KMINION}}} 0\n"
        text += 'kminion_kafka_topic_log_dir_size_total_bytes{topic_name="c"} 900000\n'
        (tmp_path / "in" / f"{at}.prom").write_text(text)
    tables = tmp_path / "tables"
    done = ingested(opened, tmp_path / "in", tables, Origin.KMINION)
    assert (done.rows, done.values_without_samples, done.unmeasured) == (0, 12, ())
    show_run(done, str(tables), Output.TABLE)
    assert "no sample was made of 12 values" in capsys.readouterr().err
    with pytest.raises(InvalidRequest, match="no samples of cluster lab; see what"):
        read_rates(tables, "lab")


def test_damaged_files_are_quarantined_and_change_nothing_else(
    opened: Opened, tmp_path: Path
) -> None:
    source = write_scrapes(tmp_path / "scrape", until=START + 120)
    whole = gzip.compress(scrape(START + 75, 1).encode())
    (source / "1" / f"{START + 75}.prom.gz").write_bytes(whole[: len(whole) // 2])
    (source / "1" / f"{START + 76}.prom").write_bytes(b"\xff\xfe metric 1\n")
    (source / "1" / "no-time.prom").write_text(scrape(START + 77, 1))
    (source / "9").mkdir()
    (source / "9" / f"{START}.prom").write_text(scrape(START, 1))
    done = ingested(opened, source, tmp_path / "tables")
    assert done.accounts.quarantined_by_reason == {"unparsable": 4}
    rows = query(f"select raw from {scan(tmp_path / 'tables', 'quarantine')} order by raw")
    texts = " | ".join(row[0] for row in rows)
    for what in ("truncated or damaged", "not UTF-8", "no time in the name", "directory 9"):
        assert what in texts
    found = by_partition(read_rates(tmp_path / "tables", "lab"))
    assert found == pytest.approx(RATES, rel=1e-3)


def answer(series: list[tuple[dict[str, str], list[tuple[int, str]]]]) -> str:
    """An answer of query_range; values are texts, as Prometheus writes them."""
    result = [{"metric": labels, "values": values} for labels, values in series]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def test_values_that_are_none_counters_that_fall_and_unknown_series(
    opened: Opened, tmp_path: Path
) -> None:
    """Gaps are left out, a restart counts from 0, names are counted, half an answer is kept."""
    of = {"instance": "b1:7071", "topic": "c"}
    meter = {"__name__": "kafka_server_brokertopicmetrics_bytesin_total", **of}
    offset = {"__name__": "kafka_log_log_logendoffset", **of, "partition": "0"}
    times = range(START, END + 1, 15)
    fallen = START + 200  # the broker starts again; its counter begins at 0
    counted = [(at, str(50 * (at - (START if at < fallen else fallen)))) for at in times]
    for at, text in ((3, "NaN"), (7, "+Inf"), (11, "-5"), (20, "NaN")):
        counted[at] = (counted[at][0], text)
    offsets = [(at, str(5 * (at - START))) for at in times]
    unknown = ({"__name__": "kafka_server_unknown_total", **of}, counted)
    stranger = ({**meter, "instance": "elsewhere:7071"}, counted)
    whole = answer([(meter, counted), (offset, offsets), unknown, stranger])
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "page.json").write_text(whole)
    (tmp_path / "in" / "half.json").write_text(whole[: len(whole) // 2])
    (tmp_path / "in" / "empty.json").write_text(answer([])[:-1] + ', "warnings": ["store b"]}')
    metadata = {**METADATA, "instance_to_broker": {"b1:7071": 1}}
    request = MetricsRequest(
        tmp_path / "in",
        Origin.PROMETHEUS,
        parse_metadata(json.dumps(metadata).encode()),
        tmp_path / "tables",
        parse_leaders(json.dumps([{"ts": START, "topics": {"c": {"0": [1, [1], [1]]}}}]).encode()),
    )
    done = ingest_metrics(request, lambda _: opened())
    assert done.ignored["kafka_server_unknown_total"] == 1
    assert done.ignored["(no number)"] == 4
    assert done.warnings == {"store b": 1}
    assert done.unmeasured == (2,)
    assert done.ignored[f"{meter['__name__']} of other instances"] == 1
    assert done.accounts.quarantined_by_reason == {"unparsable": 1}
    quarantined = query(f"select raw from {scan(tmp_path / 'tables', 'quarantine')}")
    assert "the JSON is truncated" in quarantined[0][0]
    rates = by_partition(read_rates(tmp_path / "tables", "lab", start=START, end=END))
    assert rates == pytest.approx({("c", 0): 50.0}, rel=0.03)
