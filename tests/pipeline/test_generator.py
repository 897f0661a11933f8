"""The expected results of the generator, compared by DuckDB with the files that it wrote."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pyarrow.parquet as pq
import pytest

from kedge.errors import InvalidRequest
from kedge.pipeline.generator import SIZES, generate
from kedge.pipeline.generator.__main__ import main

RULES = """
    ts is not null and m.broker is not null and topic <> '' and size_bytes >= 0
    and bytes_in >= 0 and bytes_out >= 0 and isr <= rf
    and epoch_us(ts) - epoch_us(ingest_ts) <= 300000000 and b.broker is not null
"""
SILVER = f"""
    select m.* from raw m left join brokers b using (cluster, broker)
    where {RULES} and epoch_us(ingest_ts) - epoch_us(ts) <= 1800000000
    qualify row_number() over (
        partition by cluster, broker, topic, partition, ts order by seq desc, ingest_ts) = 1
"""


class Generated:
    """A generated directory, and DuckDB on it."""

    def __init__(self, directory: Path, expected: dict[str, Any]) -> None:
        self.directory = directory
        self.expected = expected
        self.database = duckdb.connect()
        files = f"{directory}/raw_parquet/**/*.parquet"
        raw = f"read_parquet('{files}', hive_partitioning = false)"
        self.database.execute(f"create view raw as from {raw}")
        self.database.execute(f"create view brokers as from '{directory}/brokers.parquet'")
        self.database.execute(f"create table silver as {SILVER}")

    def one(self, query: str) -> Any:
        """The only value that a query answers."""
        row = self.database.execute(query).fetchone()
        assert row is not None
        return row[0]

    def differences(self, answer: str, query: str) -> list[Any]:
        """The rows that a table of answers and a query do not share."""
        wanted = f"select * from '{self.directory}/{answer}.parquet'"
        both = f"({wanted} except {query}) union all ({query} except {wanted})"
        return self.database.execute(both).fetchall()


@pytest.fixture(scope="module", params=[("XS", 7), ("XS", 8), ("S", 11)], ids=str)
def generated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Generated]:
    size, seed = request.param
    directory = tmp_path_factory.mktemp("metrics")
    made = Generated(directory, generate(directory, size=size, seed=seed))
    yield made
    made.database.close()


def test_every_row_is_of_one_kind(generated: Generated) -> None:
    expected = generated.expected
    kinds = ("clean_unique", "late_drop", "exact_dup", "correction", "malformed")
    assert generated.one("select count(*) from raw") == expected["rows_total"]
    assert sum(expected[kind] for kind in kinds) == expected["rows_total"]
    assert all(expected[kind] > 0 for kind in kinds)
    assert generated.one("select count(*) from silver") == expected["clean_unique"]


def test_malformed_late_and_duplicate_rows_are_as_many_as_expected(
    generated: Generated,
) -> None:
    expected = generated.expected
    malformed = (
        f"from raw m left join brokers b using (cluster, broker) where ({RULES}) is not true"
    )
    assert generated.one(f"select count(*) {malformed}") == expected["malformed"]
    assert sum(expected["malformed_kinds"].values()) == expected["malformed"]
    assert set(expected["malformed_kinds"]) == {
        *("null_ts", "null_broker", "negative_size", "negative_bytes"),
        *("unknown_broker", "future_ts", "isr_gt_rf", "empty_topic"),
    }
    late = "epoch_us(ingest_ts) - epoch_us(ts) > 1800000000"
    valid = f"from raw m left join brokers b using (cluster, broker) where {RULES}"
    assert generated.one(f"select count(*) {valid} and {late}") == expected["late_drop"]
    key = "cluster, broker, topic, partition, ts"
    copies = f"select count(*) c {valid} and not ({late}) group by {key}, seq having c > 1"
    copies = copies.replace("cluster, broker,", "cluster, m.broker,")
    assert generated.one(f"select sum(c - 1) from ({copies})") == expected["exact_dup"]


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("null_ts", "ts is null"),
        ("null_broker", "broker is null"),
        ("negative_size", "size_bytes < 0"),
        ("negative_bytes", "bytes_in < 0"),
        ("unknown_broker", "broker >= 9000"),
        ("future_ts", "ts > ingest_ts"),
        ("isr_gt_rf", "isr > rf"),
        ("empty_topic", "topic = ''"),
    ],
)
def test_the_counts_of_malformed_fields_are_those_expected(
    generated: Generated, kind: str, condition: str
) -> None:
    found = generated.one(f"select count(*) from raw where {condition}")
    assert found == generated.expected["malformed_kinds"][kind]


def test_sums_by_broker_are_those_of_the_clean_rows(generated: Generated) -> None:
    query = """
        select cluster, broker, max(size_bytes), count(*), sum(bytes_in), sum(bytes_out),
            sum(bytes_in) filter (is_leader), count(*) filter (is_leader)
        from silver group by cluster, broker
    """
    assert generated.differences("expected_broker", query) == []


def test_sums_by_window_are_those_of_the_clean_rows(generated: Generated) -> None:
    query = """
        select cluster, time_bucket(interval 300 seconds, ts) w, count(*), sum(bytes_in),
            sum(bytes_out)
        from silver group by cluster, w
    """
    assert generated.differences("expected_window", query) == []


def test_percentiles_of_tracked_partitions_are_those_of_the_clean_rows(
    generated: Generated,
) -> None:
    tracked = f"'{generated.directory}/expected_tracked.parquet'"
    query = f"""
        select cluster, topic, partition, count(*), quantile_disc(bytes_in, 0.5),
            quantile_disc(bytes_in, 0.95), max(bytes_in), sum(bytes_in)
        from silver semi join {tracked} using (cluster, topic, partition)
        where is_leader group by cluster, topic, partition
    """
    assert generated.differences("expected_tracked", query) == []


def test_planted_partitions_flap_and_grow_and_no_others_do(generated: Generated) -> None:
    partitions = """
        select cluster, topic, partition, min(isr) < max(isr) flaps,
            max(size_bytes) > 1.005 * min(size_bytes) grows
        from silver group by cluster, topic, partition
    """
    for kind, named in (
        ("flaps", generated.expected["flapping"]),
        ("grows", [one["partition"] for one in generated.expected["growing"]]),
    ):
        found = generated.database.execute(
            f"select cluster, topic, partition from ({partitions}) where {kind} order by all"
        ).fetchall()
        assert [list(row) for row in found] == sorted(named)


def test_text_files_have_the_same_rows_and_the_expected_malformed_lines(tmp_path: Path) -> None:
    expected = generate(tmp_path, size="XS", seed=3, formats=("parquet", "jsonl", "csv"))
    lines = sum(len(f.read_bytes().splitlines()) for f in tmp_path.rglob("*.jsonl"))
    assert lines == expected["rows_total"] + expected["text_broken"]["jsonl"]
    csv = sum(len(f.read_bytes().splitlines()) - 1 for f in tmp_path.rglob("*.csv"))
    assert csv == expected["rows_total"] + expected["text_broken"]["csv"]
    first = sorted(tmp_path.rglob("*.jsonl"))[0].read_bytes().splitlines()[0]
    row = pq.read_table(sorted(tmp_path.rglob("part-00000.parquet"))[0]).slice(0, 1).to_pylist()[0]
    reported = orjson.loads(first)
    assert {**reported, "ts": 0, "ingest_ts": 0} == {**row, "ts": 0, "ingest_ts": 0}
    assert reported["ts"] == row["ts"].strftime("%Y-%m-%dT%H:%M:%SZ")


def test_the_same_seed_gives_the_same_files_and_another_seed_others(tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        generate(tmp_path / name, size="XS", seed=seed)
    a, b, c = (
        [f.read_bytes() for f in sorted((tmp_path / name).rglob("part-*.parquet"))]
        for name in "abc"
    )
    assert a == b
    assert a != c


def test_rows_are_in_the_order_of_arrival(generated: Generated) -> None:
    last = 0
    for file in sorted(generated.directory.rglob("part-*.parquet"), key=lambda f: f.name):
        arrivals = pq.read_table(file)["ingest_ts"].cast("int64").to_numpy()
        minutes = (arrivals - 5_000_000) // 60_000_000
        assert (minutes[1:] >= minutes[:-1] - 1).all()
        assert minutes[0] >= last - 1
        last = minutes[-1]


def test_an_unknown_size_or_format_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="unknown size 'XXL'"):
        generate(tmp_path / "x", size="XXL")
    with pytest.raises(InvalidRequest, match="unknown format 'xml'"):
        generate(tmp_path / "x", size="XS", formats=("xml",))
    assert not (tmp_path / "x").exists()
    assert set(SIZES) == {"XS", "S", "M", "L"}


def test_the_program_writes_metrics_and_reports_an_error_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["generator", "--size", "XS", "--out", str(tmp_path / "m")]
    monkeypatch.setattr("sys.argv", options)
    assert main() == 0
    assert capsys.readouterr().out.startswith("12")
    assert (tmp_path / "m" / "expected.json").is_file()
    monkeypatch.setattr("sys.argv", [*options, "--formats", "xml"])
    assert main() == 2
    assert capsys.readouterr().err.startswith("kedge: unknown format 'xml'")
