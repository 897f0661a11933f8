"""Plans as files: written, read back, read by Kafka's rules, refused with the place."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import InvalidPlan, KedgeError, MalformedInput, MalformedJson
from kedge.model import BrokerId, TopicPartition, parse_snapshot
from kedge.plan import (
    Change,
    Plan,
    Reassignment,
    Summary,
    inverse,
    parse_execute,
    parse_plan,
    plan_to_json,
    read_plan,
    verify_plan,
)
from tests.plan.plans import LOGS_0, ORDERS_0, ids, plan

keys = st.builds(TopicPartition, st.text("ab.é", min_size=1, max_size=3), st.integers(0, 20))
lists = st.lists(st.integers(0, 9).map(BrokerId), min_size=1, max_size=4, unique=True).map(tuple)


def edited(**changes: Any) -> bytes:
    """The file of the small plan with some of its keys replaced; None takes one away."""
    fields = orjson.loads(plan_to_json(plan())) | changes
    return orjson.dumps({name: value for name, value in fields.items() if value is not None})


def test_a_plan_is_written_one_partition_to_a_line() -> None:
    assert plan_to_json(plan()).decode() == (
        '{"format": "kedge.plan/1",\n'
        ' "version": 1,\n'
        ' "cluster_id": "lab",\n'
        f' "snapshot_sha256": "{"ab" * 32}",\n'
        ' "created_at": "2026-11-15T12:00:00Z",\n'
        ' "partitions": [\n'
        '  {"topic":"orders","partition":0,"replicas":[4,2,3],"log_dirs":["any","any","any"]},\n'
        '  {"topic":"logs","partition":0,"replicas":[2,4],"log_dirs":["any","any"]}\n'
        " ],\n"
        ' "before": [\n'
        '  {"topic":"orders","partition":0,"replicas":[1,2,3]},\n'
        '  {"topic":"logs","partition":0,"replicas":[1,2]}\n'
        " ],\n"
        ' "reasons": [\n'
        '  {"topic":"orders","partition":0,"why":"broker 4 is new"}\n'
        " ],\n"
        ' "waves": [\n'
        "  [1],\n"
        "  [0]\n"
        " ],\n"
        ' "summary": {"replicas_moved":2,"leaders_moved":1,"bytes_moved":11,'
        '"imbalance_before":{"disk":1.5},"eta_seconds":2.5,"peak_disk":{"4":0.5,"10":0.2}}}\n'
    )


def test_a_plan_reads_back_as_it_was() -> None:
    assert parse_plan(plan_to_json(plan())) == plan()


def test_a_plan_is_a_reassignment_file_for_kafkas_own_tool() -> None:
    found = parse_execute(plan_to_json(plan()).decode())
    assert found == plan().as_kafka
    assert found.targets == plan().after


def test_a_plan_tells_its_changes_in_order() -> None:
    assert plan().changes == [
        Change(ORDERS_0, ids(1, 2, 3), ids(4, 2, 3)),
        Change(LOGS_0, ids(1, 2), ids(2, 4)),
    ]


def test_an_empty_plan_is_a_plan() -> None:
    nothing = Plan((), {})
    assert parse_plan(plan_to_json(nothing)) == nothing
    assert verify_plan(nothing) == []


@given(st.dictionaries(keys, st.tuples(lists, lists), max_size=6), st.data())
def test_any_plan_reads_back(
    moves: dict[TopicPartition, tuple[tuple[BrokerId, ...], tuple[BrokerId, ...]]],
    data: st.DataObject,
) -> None:
    order = data.draw(st.permutations(range(len(moves))))
    cut = data.draw(st.integers(0, len(moves)))
    written = Plan(
        partitions=tuple(Reassignment.anywhere(tp, after) for tp, (_, after) in moves.items()),
        before={tp: before for tp, (before, _) in moves.items()},
        reasons={tp: data.draw(st.text(max_size=5)) for tp in list(moves)[:cut]},
        waves=tuple(tuple(wave) for wave in (order[:cut], order[cut:]) if wave),
    )
    assert parse_plan(plan_to_json(written)) == written
    assert parse_plan(plan_to_json(inverse(written))) == inverse(written)


PARTITION = {"topic": "t", "partition": 0, "replicas": [1]}


@pytest.mark.parametrize(
    ("changes", "kind", "place"),
    [
        ({"format": None}, MalformedJson, "plan: format is missing"),
        ({"format": "kedge.plan/2"}, MalformedInput, "format: "),
        ({"version": 2}, MalformedInput, "version: "),
        ({"version": "1"}, MalformedJson, "version: "),
        ({"partitions": None}, MalformedJson, "partitions is missing"),
        ({"before": None}, MalformedJson, "before is missing"),
        (
            {"partitions": [{**PARTITION, "replicas": [1, "2"]}]},
            MalformedJson,
            "partitions[0].repl",
        ),
        ({"partitions": [{**PARTITION, "log_dirs": []}]}, InvalidPlan, "partitions[0].log_dirs: "),
        ({"partitions": [PARTITION, PARTITION]}, InvalidPlan, "partitions[1]: t-0 is listed"),
        ({"before": [PARTITION, PARTITION]}, InvalidPlan, "before[1]: t-0 is listed"),
        ({"before": [{"topic": "t", "partition": 0}]}, MalformedJson, "before[0]: replicas"),
        ({"reasons": [{"topic": "t", "partition": 0}]}, MalformedJson, "reasons[0]: why"),
        ({"reasons": {}}, MalformedJson, "reasons: "),
        ({"waves": [[0, "1"]]}, MalformedJson, "waves[0][1]: "),
        ({"waves": [0, 1]}, MalformedJson, "waves[0]: "),
        ({"summary": []}, MalformedJson, "summary: "),
        ({"summary": {"leaders_moved": 0}}, MalformedJson, "summary: replicas_moved"),
        ({"summary": {"replicas_moved": 1.5}}, MalformedJson, "summary.replicas_moved: "),
        ({"summary": {"replicas_moved": -1}}, MalformedJson, "summary.replicas_moved: "),
        ({"cluster_id": 7}, MalformedJson, "cluster_id: "),
        ({"snapshot_sha256": 7}, MalformedJson, "snapshot_sha256: "),
    ],
)
def test_a_malformed_plan_is_refused_with_its_place(
    changes: dict[str, Any], kind: type[KedgeError], place: str
) -> None:
    with pytest.raises(kind) as refused:
        read_plan(edited(**changes))
    assert type(refused.value) is kind
    assert str(refused.value).startswith(place)


@pytest.mark.parametrize(
    ("figure", "value"),
    [
        ("eta_seconds", -1),
        ("eta_seconds", True),
        ("imbalance_after", {"disk": "1"}),
        ("imbalance_after", [1]),
        ("peak_disk", {"x": 1}),
        ("peak_disk", {"4": None}),
        ("bytes_moved", 1.5),
    ],
)
def test_a_malformed_figure_is_refused_with_its_place(figure: str, value: object) -> None:
    summary = {"replicas_moved": 2, "leaders_moved": 1, figure: value}
    with pytest.raises(MalformedJson) as refused:
        read_plan(edited(summary=summary))
    assert refused.value.place.startswith(f"summary.{figure}")


@pytest.mark.parametrize("data", [b"", b"x", b"{", b"\xff", plan_to_json(plan()) + b"x"])
def test_what_is_not_one_json_value_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedInput, match="not valid JSON") as refused:
        read_plan(data)
    assert refused.value.place == f"line {1 + data.count(10)} column {1 + (data == b'{')}"


def test_a_plain_reassignment_file_is_told_where_to_go() -> None:
    with pytest.raises(MalformedJson, match="kedge reassign execute"):
        parse_plan(b'{"version":1,"partitions":[]}')


def test_a_snapshot_in_the_place_of_a_plan_is_recognised() -> None:
    with pytest.raises(MalformedInput, match="This is a snapshot; a plan is needed"):
        parse_plan(b'{"format":"kedge.snapshot/1","brokers":[]}')
    with pytest.raises(MalformedInput, match="This is a plan; a snapshot is needed"):
        parse_snapshot(plan_to_json(plan()))


def test_keys_of_the_future_are_ignored() -> None:
    assert parse_plan(edited(colour="green")) == plan()


def test_figures_that_are_not_known_may_be_null() -> None:
    summary = {"replicas_moved": 2, "leaders_moved": 1, "bytes_moved": None, "eta_seconds": None}
    assert parse_plan(edited(summary=summary)).summary == Summary(2, 1)


def test_a_plan_that_contradicts_itself_does_not_enter() -> None:
    with pytest.raises(InvalidPlan, match=r"waves\[1\]\[0\]: partitions\[1\] is in a wave already"):
        parse_plan(edited(waves=[[1], [1]]))


def test_an_edited_plan_enters_with_figures_that_are_out_of_date() -> None:
    fields = orjson.loads(plan_to_json(plan()))
    shorter = {name: fields[name][:1] for name in ("partitions", "before")}
    found = parse_plan(edited(**shorter, waves=[[0]]))
    assert {finding.place for finding in verify_plan(found)} == {
        "summary.replicas_moved",
        "summary.leaders_moved",
    }


def test_the_inverse_brings_everything_back_in_the_opposite_order() -> None:
    back = inverse(plan())
    assert back.after == {ORDERS_0: ids(1, 2, 3), LOGS_0: ids(1, 2)}
    assert back.before == plan().after
    assert back.waves == ((0,), (1,))
    assert back.summary == Summary(2, 0, imbalance_after={"disk": 1.5})
    assert verify_plan(back) == []


def test_the_inverse_of_the_inverse_does_what_the_plan_did() -> None:
    there = inverse(inverse(plan()))
    assert (there.partitions, there.before) == (plan().partitions, plan().before)
