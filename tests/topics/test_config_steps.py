"""Steps on a config map. The rows of appending and subtracting are those of a real broker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import DuplicateInRequest, InvalidConfiguration, InvalidRequest
from kedge.topics import Alteration, Op, apply_alterations, refuse_absent_keys

POLICY = "cleanup.policy"
THROTTLED = "follower.replication.throttled.replicas"


@pytest.mark.parametrize(
    ("name", "old", "added", "new"),
    [
        (POLICY, None, "compact", "delete,compact"),
        (POLICY, None, "delete", "delete"),
        (POLICY, "", "compact", "compact"),
        (POLICY, "compact", "delete,delete", "compact,delete,delete"),
        (POLICY, "compact , delete", "delete", "compact , delete,delete"),
        (THROTTLED, None, "0:1", "0:1"),
        (THROTTLED, "0:1", "0:1,0:1", "0:1"),
        (THROTTLED, "0:1,", "2:2", "0:1,2:2"),
        (THROTTLED, ",,", "1:1", "1:1"),
        (THROTTLED, "0:1", "", "0:1,"),
        (THROTTLED, " ", "1:1", " ,1:1"),
    ],
)
def test_append(name: str, old: str | None, added: str, new: str) -> None:
    current = {} if old is None else {name: old}
    assert apply_alterations(current, [Alteration(name, Op.APPEND, added)]) == {name: new}


@pytest.mark.parametrize(
    ("name", "old", "less", "new"),
    [
        (POLICY, None, "delete", ""),
        (POLICY, "compact", "delete", "compact"),
        (POLICY, "compact,delete,delete", "delete", "compact,delete"),
        (POLICY, "compact,delete", " delete", "compact,delete"),
        (THROTTLED, None, "0:1", ""),
        (THROTTLED, "0:1", "0:1", ""),
        (THROTTLED, ",1:1", "", "1:1"),
    ],
)
def test_subtract(name: str, old: str | None, less: str, new: str) -> None:
    current = {} if old is None else {name: old}
    assert apply_alterations(current, [Alteration(name, Op.SUBTRACT, less)]) == {name: new}


@pytest.mark.parametrize("op", [Op.APPEND, Op.SUBTRACT])
def test_only_lists_can_be_added_to(op: Op) -> None:
    with pytest.raises(InvalidConfiguration, match="is not a list"):
        apply_alterations({}, [Alteration("retention.ms", op, "1")])
    with pytest.raises(InvalidConfiguration, match="unknown"):
        apply_alterations({}, [Alteration("nope", op, "1")])


def test_the_same_key_twice_is_refused() -> None:
    steps = [Alteration("a", Op.SET, "1"), Alteration("a", Op.DELETE)]
    with pytest.raises(DuplicateInRequest, match="a more than once"):
        apply_alterations({}, steps)


def test_a_value_is_needed_but_for_deleting() -> None:
    with pytest.raises(InvalidRequest, match="no value"):
        apply_alterations({}, [Alteration("retention.ms")])


def test_the_broker_does_not_mind_deleting_what_is_not_there_but_the_tool_does() -> None:
    assert apply_alterations({"a": "1"}, [Alteration("b", Op.DELETE)]) == {"a": "1"}
    refuse_absent_keys({"a": "1"}, ["a"])
    with pytest.raises(InvalidConfiguration, match=r"^Invalid config\(s\): b,c$"):
        refuse_absent_keys({"a": "1"}, ["b", "a", "c"])


KEYS = st.sampled_from("abc")
MAPS = st.dictionaries(KEYS, st.text(max_size=2))


@given(MAPS, MAPS)
def test_setting_merges_and_deleting_takes_away(current: dict[str, str], wanted: dict[str, str]):
    before = dict(current)
    merged = apply_alterations(current, [Alteration(k, Op.SET, v) for k, v in wanted.items()])
    assert merged == {**current, **wanted}
    left = apply_alterations(merged, [Alteration(k, Op.DELETE) for k in wanted])
    assert left == {k: v for k, v in current.items() if k not in wanted}
    assert current == before


ITEMS = st.lists(st.sampled_from(["0:1", "1:2", "2:3", "3:4"]), min_size=1, unique=True)


@given(ITEMS, ITEMS)
def test_what_is_appended_can_be_subtracted(old: list[str], more: list[str]) -> None:
    fresh = [item for item in more if item not in old]
    grown = apply_alterations(
        {THROTTLED: ",".join(old)}, [Alteration(THROTTLED, Op.APPEND, ",".join(more))]
    )
    assert grown[THROTTLED].split(",") == old + fresh
    shrunk = apply_alterations(grown, [Alteration(THROTTLED, Op.SUBTRACT, ",".join(fresh))])
    assert shrunk[THROTTLED].split(",") == old
