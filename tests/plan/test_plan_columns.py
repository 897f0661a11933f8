"""Reading a plan at once gives what reading it value by value gives, and the same refusals."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import KedgeError
from kedge.plan import plan_to_json, read_plan
from kedge.plan.plan_columns import Names, before_at_once, partitions_at_once, reasons_at_once
from kedge.plan.plan_reader import by_partition, partitions, replicas, why
from tests.plan.plans import plan

odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**33), 2**33),
    st.floats(allow_nan=False),
    st.text(max_size=2),
    st.lists(st.integers(-1, 3), max_size=2),
    st.just({}),
)
row = st.fixed_dictionaries(
    {},
    optional={
        "topic": st.sampled_from(["a", "b"]) | odd,
        "partition": st.integers(0, 3) | odd,
        "replicas": st.lists(st.integers(0, 3) | odd, max_size=3) | odd,
        "log_dirs": st.lists(st.just("any") | odd, max_size=3) | odd,
        "why": st.text(max_size=3) | odd,
    },
)
rows = st.lists(row | odd, max_size=4) | odd


def outcome(read: Any) -> Any:
    try:
        return read()
    except KedgeError as refused:
        return type(refused)


@given(rows)
def test_what_is_read_at_once_is_what_is_read_one_by_one(items: Any) -> None:
    fields = {"partitions": items, "before": items, "reasons": items}
    slowly = {
        "partitions": outcome(lambda: partitions(fields)),
        "before": outcome(lambda: by_partition(fields, "before", replicas)),
        "reasons": outcome(lambda: by_partition(fields, "reasons", why)),
    }
    at_once = {
        "partitions": partitions_at_once(items, Names()),
        "before": before_at_once(items, Names()),
        "reasons": reasons_at_once(items, Names()),
    }
    for name, found in at_once.items():
        assert found is None or found == slowly[name]


def test_a_sound_plan_is_read_at_once() -> None:
    fields = orjson.loads(plan_to_json(plan()))
    names = Names()
    assert partitions_at_once(fields["partitions"], names) == plan().partitions
    assert before_at_once(fields["before"], names) == plan().before
    assert reasons_at_once(fields["reasons"], names) == plan().reasons


def test_a_reason_that_looks_like_json_stays_one_line() -> None:
    tricky = '},{"topic":"x"},\n  {"topic":'
    some = plan(reasons={tp: tricky for tp in plan().after})
    data = plan_to_json(some)
    assert read_plan(data) == some
    assert data.count(b"\n") == plan_to_json(plan()).count(b"\n") + 1


def test_what_only_planners_understand_is_kept_as_it_was() -> None:
    some = plan(goals={"max_moves": 3}, certificate={"best": [1.0, None]}, notes=("a", "b"))
    assert read_plan(plan_to_json(some)) == some
