"""The transforms on a few rows each, and the physical plans of Spark."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.testing import assertDataFrameEqual

from kedge.pipeline.models import courses
from kedge.pipeline.schemas import RAW_TEXT, REPLICA_KEY, SAMPLE, SAMPLE_COLUMNS
from kedge.pipeline.transforms import (
    ROLLUP_INPUT,
    ValidationRules,
    dedupe,
    expand_copies,
    rejected_rows,
    roll_up,
    valid_rows,
    with_known_broker,
    with_replica_hash,
)
from kedge.pipeline.transforms.parse import parse_json
from kedge.pipeline.transforms.replica_hash import CONDITION_MAX

pytestmark = pytest.mark.real

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
GOOD_ROW: dict[str, Any] = {
    "cluster": "c",
    "broker": 1,
    "topic": "t",
    "partition": 0,
    "ts": NOON,
    "ingest_ts": NOON + timedelta(seconds=5),
    "seq": 4,
    "is_leader": True,
    "size_bytes": 100,
    "bytes_in": 10,
    "bytes_out": 20,
    "isr": 3,
    "rf": 3,
}
LINE = (
    '{"cluster":"c","broker":1,"topic":"t","partition":0,"ts":"2026-01-05T12:00:00Z",'
    '"ingest_ts":"2026-01-05T12:00:05Z","seq":4,"is_leader":true,"size_bytes":100,'
    '"bytes_in":10,"bytes_out":20,"isr":3,"rf":3}'
)


def samples(spark: SparkSession, *changes: dict[str, Any]) -> DataFrame:
    made = [{**GOOD_ROW, **change} for change in changes]
    return spark.createDataFrame([tuple(row[c] for c in SAMPLE_COLUMNS) for row in made], SAMPLE)


def seconds(value: Any) -> Any:
    """Times as seconds: Spark hands them over in the zone of this machine."""
    return value.timestamp() if isinstance(value, datetime) else value


def plan_of(frame: Any) -> str:
    """The plan that would be run."""
    return str(frame._jdf.queryExecution().executedPlan().toString())


FAULTS: dict[str, dict[str, Any]] = {
    "null_ts": {"ts": None},
    "null_broker": {"broker": None},
    "empty_topic": {"topic": ""},
    "negative_size": {"size_bytes": -1},
    "negative_bytes": {"bytes_out": -1},
    "unknown_broker": {"broker": 9},
    "future_ts": {"ts": NOON + timedelta(seconds=306)},
    "isr_gt_rf": {"isr": 4},
    "unparsable": {"seq": None},
}


@pytest.mark.parametrize(
    "brokers",
    [[("c", 1)], [("c", 1), *(("other", n) for n in range(CONDITION_MAX))]],
    ids=["in the query", "joined"],
)
def test_each_fault_has_its_reason_and_values_at_the_limits_are_valid(
    spark: SparkSession, brokers: list[tuple[str, int]]
) -> None:
    edges = {
        "good": {},
        "just in time": {"ingest_ts": NOON + timedelta(seconds=1800)},
        "just behind": {"ingest_ts": NOON + timedelta(seconds=1800, microseconds=1)},
        "just ahead": {"ts": NOON + timedelta(seconds=305)},
        "of another replica": {"topic": "elsewhere"},
    }
    rows = samples(spark, *FAULTS.values(), *edges.values())
    rows = rows.withColumn(RAW_TEXT, F.lit(None).cast("string"))
    known = with_known_broker(with_replica_hash(rows), brokers=brokers)
    others = rejected_rows(known, rules=ValidationRules()).select("reason", "verdict").collect()
    assert sorted(str(row.reason) for row in others) == sorted([*FAULTS, "None"])
    assert [row.verdict for row in others if row.reason is None] == ["late"]
    assert {row.verdict for row in others if row.reason is not None} == {"quarantined"}
    kept = valid_rows(known, rules=ValidationRules()).select("topic", "ts").collect()
    assert sorted((row.topic, seconds(row.ts) - seconds(NOON)) for row in kept) == [
        *(("elsewhere", 0), ("t", 0), ("t", 0), ("t", 305)),
    ]


def test_the_hash_of_a_replica_depends_on_its_key_only(
    spark: SparkSession,
) -> None:
    changes = [{}, {"broker": 2}, {"partition": 2}, {"topic": "u"}, {"cluster": "d"}]
    again: list[dict[str, Any]] = [{**one, "seq": 9, "bytes_in": 1} for one in changes]
    numbers = [row.replica for row in with_replica_hash(samples(spark, *changes, *again)).collect()]
    assert len(set(numbers)) == len(changes)
    assert numbers[: len(changes)] == numbers[len(changes) :]


def test_text_that_is_not_a_sample_is_kept_unchanged(spark: SparkSession) -> None:
    broken = [
        LINE[:40],
        LINE.replace("100", '"many"'),
        LINE.replace('"rf"', '"colour"'),
        f"[{LINE}]",
        "42",
        "null",
    ]
    lines = spark.createDataFrame([(text,) for text in [LINE, *broken, None]], "value string")
    parsed = parse_json(lines).select(*SAMPLE_COLUMNS, RAW_TEXT).collect()
    assert {name: seconds(parsed[0][name]) for name in SAMPLE_COLUMNS} == {
        name: seconds(value) for name, value in GOOD_ROW.items()
    }
    assert parsed[0][RAW_TEXT] is None
    assert [row[RAW_TEXT] for row in parsed[1:]] == [*broken, ""]
    assert all(row.cluster is None for row in parsed[1:])


def test_the_highest_seq_is_kept_and_counts_its_copies(spark: SparkSession) -> None:
    later = {"ts": NOON + timedelta(seconds=60)}
    rows = samples(
        spark,
        *({"seq": 4}, {"seq": 4, "ingest_ts": NOON + timedelta(seconds=9)}, {"seq": 3}),
        *({**later, "seq": 5, "bytes_in": 11}, {**later, "seq": 4}),
        {"broker": 7, "seq": 1},  # a replica that the assignment does not have
    )
    unique = dedupe(with_replica_hash(rows), partitions=2)
    kept = unique.select("broker", "ts", "seq", "bytes_in", "copies", "ingest_ts").collect()
    assert sorted((r.broker, r.ts.minute, r.seq, r.bytes_in, r.copies) for r in kept) == [
        *((1, 0, 4, 10, 2), (1, 1, 5, 11, 1), (7, 0, 1, 10, 1)),
    ]
    first = next(row for row in kept if row.copies == 2)
    assert first.ingest_ts.second == 5


def test_two_runs_give_the_counts_of_one_run(spark: SparkSession) -> None:
    rows = samples(spark, {"seq": 4}, {"seq": 4}, {"seq": 3})
    numbered = with_replica_hash(rows)
    once = dedupe(numbered.unionByName(numbered), partitions=2)
    silver = dedupe(numbered, partitions=2).drop("replica")
    again = with_replica_hash(expand_copies(silver).unionByName(rows))
    assertDataFrameEqual(dedupe(again, partitions=2), once)


def test_a_window_includes_its_start_and_excludes_its_end(spark: SparkSession) -> None:
    ends = [NOON, NOON + timedelta(seconds=299), NOON + timedelta(seconds=300)]
    changes = [{"ts": ts, "size_bytes": size} for size, ts in enumerate(ends)]
    rolled = roll_up(samples(spark, *changes, {"broker": 2, "is_leader": False, "isr": 2}))
    found = {(row.broker, row.window_start.minute): row for row in rolled.collect()}
    assert found[1, 0].asDict() | {"last_ts": None, "window_start": None} == {
        "cluster": "c",
        "broker": 1,
        "topic": "t",
        "partition": 0,
        "window_start": None,
        "rows": 2,
        "bytes_in": 20,
        "bytes_out": 40,
        "leader_rows": 2,
        "last_ts": None,
        "leader_bytes_in": 20,
        "leader_bytes_out": 40,
        "last_size": 1,
        "max_size_bytes": 1,
        "min_isr": 3,
        "max_isr": 3,
    }
    assert found[1, 5].rows == 1
    assert (found[2, 0].leader_rows, found[2, 0].min_isr) == (0, 2)


def test_the_rollup_of_this_process_is_that_of_spark(spark: SparkSession) -> None:
    dice = random.Random(11)
    at = {
        (dice.randrange(3), dice.randrange(2), dice.choice([-1, 1]) * dice.randrange(1500 * 10**6))
        for _ in range(500)
    }
    changes: list[dict[str, Any]] = [
        {
            "broker": broker,
            "topic": "äb"[topic],
            "ts": datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us),
            "is_leader": dice.random() < 0.5,
            **{name: dice.randrange(2**50) for name in ("size_bytes", "bytes_in", "bytes_out")},
            "isr": dice.randrange(4),
        }
        for broker, topic, us in sorted(at)
    ]
    rows = samples(spark, *changes)
    wanted = roll_up(rows).toArrow()
    rolled = courses.roll_up(rows.select(*courses.SAMPLE_INPUT).toArrow(), window_s=300)
    order = [(name, "ascending") for name in (*REPLICA_KEY, "window_start")]
    assert len(wanted) < len(changes)
    assert rolled.sort_by(order).to_pylist() == wanted.sort_by(order).to_pylist()
    assert [str(one.type) for one in rolled.schema] == [str(one.type) for one in wanted.schema]


def test_of_different_rows_with_one_seq_the_same_one_is_kept_for_any_columns(
    spark: SparkSession,
) -> None:
    changes: list[dict[str, Any]] = [
        {"bytes_in": 7, "ingest_ts": NOON},
        {"bytes_in": 9, "ingest_ts": NOON + timedelta(seconds=8)},
        {"bytes_in": 9, "ingest_ts": NOON + timedelta(seconds=3)},
    ]
    for order in (changes, changes[::-1]):
        wide = with_replica_hash(samples(spark, *order))
        narrow = wide.select("replica", "ts", "seq", *ROLLUP_INPUT)
        assert [row.bytes_in for row in dedupe(narrow, partitions=2).collect()] == [9]
        won = dedupe(wide, partitions=2).collect()
        assert [(row.bytes_in, row.ingest_ts.second, row.copies) for row in won] == [(9, 3, 3)]


def test_the_hot_path_has_one_shuffle_and_no_python(spark: SparkSession) -> None:
    rows = samples(spark, {}).withColumn(RAW_TEXT, F.lit(None).cast("string"))
    known = with_known_broker(with_replica_hash(rows), brokers=[("c", 1)])
    unique = dedupe(valid_rows(known, rules=ValidationRules()), partitions=2)
    plan = plan_of(unique)
    assert plan.count("Exchange hashpartitioning(replica") == 1
    assert plan.count("Exchange ") == 1
    assert "Python" not in plan
    rolled = plan_of(roll_up(unique, by=("replica",)))
    assert rolled.count("Exchange hashpartitioning") == 1  # the roll-up reuses the one shuffle
