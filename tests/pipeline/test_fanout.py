"""What-if scenarios, fleet plans and plan verification: the results are those of the planner."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from kedge.balance import Goals, figures_of
from kedge.errors import Conflict, InvalidRequest, MalformedJson, OutputNotOurs, SparkUnavailable
from kedge.files import read_snapshot, write_snapshot
from kedge.pipeline.fanout.fleet_plans import SUMMARY, FleetRequest, fleet, reproducible_plan
from kedge.pipeline.fanout.map_rows import Row, map_rows, rows_of_table
from kedge.pipeline.fanout.scenario_parsing import (
    parse_grid,
    parse_scenarios,
    scenario_from_json,
    scenario_to_json,
)
from kedge.pipeline.fanout.scenarios import Scenario, partitions_without_copy
from kedge.pipeline.fanout.verify_plans import VerifyRequest, verify_plans
from kedge.pipeline.fanout.what_if import OUTPUT_COLUMNS, WhatIfRequest, _loaded, evaluate, what_if
from kedge.pipeline.fanout.what_if_chart import what_if_html
from kedge.pipeline.spark_cluster import spark_cluster
from kedge.plan import parse_plan, plan_to_json
from tests.balance.snapshots import broker, cluster, lopsided
from tests.pipeline.streaming import quick_spark

Opened = Callable[[], AbstractContextManager[SparkSession]]
Captured = pytest.CaptureFixture[str]

GRID = "traffic=1,2;lose-rack=none,a;add-brokers=0,2;replication-factor=none,9"


# ---- scenarios ----------------------------------------------------------------------------------


def test_a_grid_is_every_combination_with_the_last_axis_fastest() -> None:
    labels = [one.label for one in parse_grid("traffic=1,2; lose-rack=none,a+b; tolerance=0.1")]
    assert labels == [
        "tolerance 0.1",
        "lose a+b, tolerance 0.1",
        "traffic ×2, tolerance 0.1",
        "traffic ×2, lose a+b, tolerance 0.1",
    ]


def test_traffic_changes_rates_and_size_changes_bytes_on_disk() -> None:
    before = lopsided()
    busy, _ = Scenario(traffic=1.5).apply(before, Goals())
    large, _ = Scenario(size=2).apply(before, Goals())
    assert np.array_equal(busy.bytes_in, before.bytes_in * 1.5)
    assert np.array_equal(busy.bytes_out, before.bytes_out * 1.5)
    assert np.array_equal(busy.size, before.size)
    assert np.array_equal(large.size, before.size * 2)
    assert np.array_equal(large.bytes_in, before.bytes_in)


def test_unknown_sizes_stay_unknown() -> None:
    before = lopsided(size=np.full(30, -1))
    assert Scenario(size=3).apply(before, Goals())[0].size.tolist() == [-1] * 30


def test_a_lost_rack_removes_its_brokers_and_new_brokers_join_the_smallest_racks() -> None:
    _, goals = Scenario(lose_racks=("a",), add_brokers=3).apply(lopsided(), Goals())
    assert goals.remove_brokers == {0, 3}
    assert [(one.id, one.rack) for one in goals.add_brokers] == [(6, "b"), (7, "c"), (8, "b")]


def test_new_brokers_have_no_rack_if_the_others_have_none() -> None:
    bare = lopsided(brokers=[broker(number) for number in range(6)])
    _, goals = Scenario(add_brokers=2).apply(bare, Goals())
    assert [(one.id, one.rack) for one in goals.add_brokers] == [(6, None), (7, None)]


def test_a_scenario_keeps_the_goals_that_it_does_not_set() -> None:
    given_goals = Goals(tolerance=0.2, exclude_topics="small", weights={"cpu": 0.0})
    _, goals = Scenario(goals={"max_moves": 3}).apply(lopsided(), given_goals)
    assert goals == Goals(tolerance=0.2, exclude_topics="small", weights={"cpu": 0.0}, max_moves=3)


def test_partitions_with_replicas_in_the_lost_rack_only_are_counted() -> None:
    alone = cluster([broker(1, "a"), broker(2, "b")], {"t": [([1], 1), ([1, 2], 1), ([2], 1)]})
    assert partitions_without_copy(alone, {1}) == 1
    assert partitions_without_copy(alone, {1, 2}) == 3
    assert partitions_without_copy(alone, set()) == 0


@given(
    st.builds(
        Scenario,
        name=st.text(max_size=5),
        traffic=st.floats(0.1, 1e3),
        size=st.floats(0.1, 1e3),
        lose_racks=st.lists(st.text(min_size=1, max_size=3), max_size=2).map(tuple),
        add_brokers=st.integers(0, 9),
        replication_factor=st.dictionaries(st.sampled_from(["a", ".*"]), st.integers(1, 5)),
        tolerance=st.none() | st.floats(0, 1),
        seed=st.integers(0, 2**31),
        goals=st.just({"max_moves": 4}) | st.just({}),
    )
)
def test_a_scenario_survives_encoding_for_a_worker(scenario: Scenario) -> None:
    assert scenario_from_json(scenario_to_json(scenario)) == scenario


def test_scenarios_of_a_file_are_a_list_or_in_the_field_scenarios() -> None:
    listed = [{"name": "twice", "traffic": 2, "lose_racks": "a", "replication_factor": 3}]
    [one] = parse_scenarios(json.dumps(listed).encode())
    assert one == Scenario("twice", 2.0, lose_racks=("a",), replication_factor={".*": 3})
    assert parse_scenarios(json.dumps({"scenarios": listed}).encode()) == [one]


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ([], "no list of scenarios"),
        ([{}, 7], r"scenarios\[1\]: not an object"),
        ([{"trafic": 2}], "unknown field 'trafic'"),
        ([{"traffic": "2"}], r"scenarios\[0\]: not a scenario: traffic = '2'"),
        ([{"traffic": 0}], r"scenarios\[0\]: factor of traffic 0"),
        ([{"add_brokers": 1.5}], "add_brokers = 1.5"),
        ([{"add_brokers": True}], "add_brokers = True"),
        ([{"lose_racks": 3}], "lose_racks = 3"),
    ],
)
def test_an_invalid_scenario_is_refused_with_its_place(document: Any, sentence: str) -> None:
    with pytest.raises(MalformedJson, match=sentence):
        parse_scenarios(json.dumps(document).encode())


def test_a_scenario_without_a_plan_is_a_row_with_its_reason() -> None:
    row = evaluate(lopsided(), Scenario(replication_factor={".*": 7}), Goals())
    assert row["feasible"] is False
    assert "7" in row["reason"]
    assert set(row) <= set(OUTPUT_COLUMNS)


def test_the_fullest_broker_is_a_share_of_its_capacity() -> None:
    even = cluster([broker(1), broker(2)], {"t": [([1], 300), ([2], 100)]})
    row = evaluate(even, Scenario(), Goals(weights={"in": 0, "out": 0, "cpu": 0}))
    assert row["fullest_after"]["disk"] == pytest.approx(0.3)


def test_a_snapshot_that_changed_after_validation_is_refused(tmp_path: Path) -> None:
    write_snapshot(lopsided(), tmp_path / "now")
    with pytest.raises(Conflict, match="has changed"):
        _loaded(str(tmp_path / "now"), "another digest")


def test_the_chart_names_scenarios_and_reasons_and_needs_no_network() -> None:
    requested = [Scenario("<now>"), Scenario("much", replication_factor={".*": 7})]
    answers = [evaluate(lopsided(), one, Goals()) for one in requested]
    nothing: Row = {"fullest_after": {}}
    rows = [nothing | one | {"number": place} for place, one in enumerate(answers)]
    page = what_if_html(rows, "of a test")
    assert "<now>" not in page
    assert "much: " in page
    assert "no plan" in page
    assert 'src="http' not in page


# ---- on Spark -----------------------------------------------------------------------------------


@pytest.mark.real
def test_scenarios_on_spark_have_the_results_of_the_planner_in_their_order(
    opened: Opened, tmp_path: Path
) -> None:
    snapshot, goals, requested = lopsided(), Goals(tolerance=0.1), parse_grid(GRID)
    write_snapshot(snapshot, tmp_path / "c.snapshot")
    rows = rows_of_table(what_if(WhatIfRequest(tmp_path / "c.snapshot", requested, goals), opened))
    assert [row["number"] for row in rows] == list(range(16))
    assert [row["name"] for row in rows] == [one.label for one in requested]
    assert [row["feasible"] for row in rows] == [not one.replication_factor for one in requested]
    for row, scenario in zip(rows, requested, strict=True):
        if row["feasible"]:
            alone = asdict(figures_of(*scenario.apply(snapshot, goals), scenario.seed))
            assert {name: row[name] for name in alone} == alone
        else:
            assert "9" in row["reason"]


@pytest.mark.real
def test_an_error_of_a_worker_keeps_its_message(opened: Opened) -> None:
    def refuse(row: Row) -> list[Row]:
        raise Conflict(f"row {row['number']} is nobody's")

    columns = {"number": "int"}
    with opened() as spark, pytest.raises(SparkUnavailable, match="failed: row 1 is nobody's"):
        map_rows(spark, [{"number": 1}], refuse, input_columns=columns, output_columns=columns)


@pytest.fixture(scope="module")
def plans(
    tables: Path, opened: Opened, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[Row]]:
    out = tmp_path_factory.mktemp("fleet") / "plans"
    rows = rows_of_table(fleet(FleetRequest(tables, out, Goals(tolerance=0.1), 3), opened))
    return out, rows


@pytest.mark.real
def test_the_plans_of_a_fleet_are_those_made_one_at_a_time(
    tables: Path, plans: tuple[Path, list[Row]]
) -> None:
    out, rows = plans
    clusters = sorted(path.name for path in (tables / "gold" / "snapshot").iterdir())
    assert [row["cluster"] for row in rows] == clusters
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [SUMMARY, *(f"{name}.json" for name in clusters)]
    )
    assert rows_of_table(pq.read_table(out / SUMMARY)) == rows
    for row in rows:
        alone = reproducible_plan(
            read_snapshot(tables / "gold/snapshot" / row["cluster"]), Goals(0.1), 3
        )
        assert (out / row["plan"]).read_bytes() == plan_to_json(alone)
        assert row["bytes_moved"] == parse_plan(plan_to_json(alone)).summary.bytes_moved  # pyright: ignore[reportOptionalMemberAccess]


def test_a_fleet_does_not_write_to_a_directory_with_other_content(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    def never() -> AbstractContextManager[SparkSession]:
        raise AssertionError("no session is wanted")

    with pytest.raises(OutputNotOurs, match="has other content"):
        fleet(FleetRequest(tmp_path, tmp_path), never)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.real
def test_plans_that_were_changed_lost_or_misnamed_are_found(
    tables: Path, plans: tuple[Path, list[Row]], opened: Opened, tmp_path: Path
) -> None:
    out, rows = plans
    good = (out / rows[0]["plan"]).read_bytes()
    document = json.loads(good)
    document["summary"]["bytes_moved"] += 1
    (tmp_path / "by-its-cluster.json").write_bytes(good)
    (tmp_path / rows[0]["plan"]).write_text(json.dumps(document))
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "stranger.json").write_text(json.dumps(document | {"cluster_id": "elsewhere"}))
    requested = VerifyRequest(tmp_path, tables / "gold" / "snapshot")
    found = {row["plan"]: row for row in rows_of_table(verify_plans(requested, opened))}
    assert found["by-its-cluster.json"]["severity"] == "ok"
    assert found["by-its-cluster.json"]["snapshot"] == rows[0]["cluster"]
    assert found["by-its-cluster.json"]["partitions"] == rows[0]["partitions_changed"]
    assert found[rows[0]["plan"]]["kind"] == "summary"
    assert found["broken.json"]["kind"] == "unreadable"
    assert found["stranger.json"]["what"] == "the plan has no snapshot"
    whole = rows_of_table(verify_plans(VerifyRequest(out, requested.snapshots), opened))
    assert {row["severity"] for row in whole} == {"ok"}
    assert len(whole) == len(rows)


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_commands_give_the_same_plans_on_a_spark_cluster(
    tables: Path, plans: tuple[Path, list[Row]], tmp_path: Path
) -> None:
    local, rows = plans
    made, wrong = tmp_path / "plans", tmp_path / "wrong"
    wrong.mkdir()
    (wrong / "c00.json").write_text("{")
    snapshots = str(tables / "gold" / "snapshot")
    table, page = tmp_path / "if.parquet", tmp_path / "if.html"
    cluster_id, files = rows[0]["cluster"], ["--out", str(table), "--html", str(page)]
    goals = ["--tolerance", "0.1", "--seed", "3"]
    with spark_cluster(tmp_path / "cluster") as there:
        requested = [
            ["fleet", "--tables", str(tables), "--out", str(made), *goals, "--master", there.url],
            ["verify-plans", "--plans", str(wrong), "--snapshots", snapshots],
            ["what-if", "--snapshot", f"{snapshots}/{cluster_id}", "--grid", "traffic=1,2", *files],
        ]
        more = ["--driver-memory", "1g", "--output", "json"]
        lines = [["pipeline", *words, *more] for words in requested]
        probe = f"from kedge.cli.app import run; exit(str([run(words) for words in {lines!r}]))"
        done = subprocess.run(
            [sys.executable, "-c", probe],
            env=quick_spark(tmp_path),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stderr.splitlines()[-1] == "[0, 1, 0]", done.stderr
    for path in local.glob("*.json"):
        assert (made / path.name).read_bytes() == path.read_bytes()
    reported = [json.loads(line) for line in done.stdout.splitlines()]
    assert reported[0] == json.loads(json.dumps(rows))
    assert reported[2] == json.loads(json.dumps(rows_of_table(pq.read_table(table))))
    assert [row["traffic"] for row in reported[2]] == [1, 2]
    assert "What if: 2 scenarios" in page.read_text()


# ---- as typed -----------------------------------------------------------------------------------


def test_a_grid_with_too_many_scenarios_is_refused() -> None:
    many = ",".join(map(str, range(1, 401)))
    with pytest.raises(InvalidRequest, match="160000 scenarios"):
        parse_grid(f"seed={many};add-brokers={many}")
