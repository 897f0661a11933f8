"""What lies between two assignments: the columns agree with the dull way of counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import UnknownTopicOrPartition
from kedge.model import BrokerId, TopicPartition
from kedge.model.assignment import Assignment
from kedge.plan import Change, Figures, differences_between

lists = st.lists(st.integers(0, 6).map(BrokerId), min_size=1, max_size=4, unique=True)
keys = st.builds(TopicPartition, st.sampled_from(["a", "b", "c"]), st.integers(0, 5))


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def change(before: tuple[BrokerId, ...], after: tuple[BrokerId, ...]) -> Change:
    return Change(TopicPartition("t", 0), before, after)


@pytest.mark.parametrize(
    ("before", "after", "added", "removed", "leader_moved"),
    [
        (ids(1, 2, 3), ids(4, 2, 3), ids(4), ids(1), False),
        (ids(1, 2, 3), ids(2, 1, 3), (), (), True),
        (ids(1, 2, 3), ids(2, 3, 4), ids(4), ids(1), True),
        (ids(1, 2), ids(1, 2, 3), ids(3), (), False),
        (ids(1, 2), ids(1), (), ids(2), False),
    ],
)
def test_a_change_knows_what_moves(
    before: tuple[BrokerId, ...],
    after: tuple[BrokerId, ...],
    added: tuple[BrokerId, ...],
    removed: tuple[BrokerId, ...],
    leader_moved: bool,
) -> None:
    found = change(before, after)
    assert (found.added, found.removed, found.leader_moved) == (added, removed, leader_moved)


@given(
    st.dictionaries(keys, st.tuples(lists, lists, st.integers(0, 2**40)), max_size=12), st.data()
)
def test_columns_count_as_single_changes_do(
    rows: dict[TopicPartition, tuple[list[BrokerId], list[BrokerId], int]], data: st.DataObject
) -> None:
    listed = data.draw(st.sets(st.sampled_from(sorted(rows)))) if rows else set[TopicPartition]()
    before = Assignment.from_mapping({tp: row[0] for tp, row in rows.items()})
    after = Assignment.from_mapping({tp: rows[tp][1] for tp in listed})
    found = differences_between(before, after)

    naive = [Change(tp, tuple(rows[tp][0]), tuple(rows[tp][1])) for tp in sorted(listed)]
    naive = [each for each in naive if each.before != each.after]
    sizes = np.array([rows[tp][2] for tp in sorted(rows)], np.int64)
    assert list(found) == naive
    assert found.removed.tolist() == [len(each.removed) for each in naive]
    assert found.figures(sizes) == Figures(
        replicas_moved=sum(len(each.added) for each in naive),
        leaders_moved=sum(each.leader_moved for each in naive),
        bytes_moved=sum(len(each.added) * rows[each.tp][2] for each in naive),
    )


def test_bytes_are_unknown_only_where_an_unknown_size_is_copied() -> None:
    a, b = TopicPartition("a", 0), TopicPartition("b", 0)
    before = Assignment.from_mapping({a: ids(1, 2), b: ids(1, 2)})
    reorder = Assignment.from_mapping({a: ids(2, 1), b: ids(1, 3)})
    assert differences_between(before, reorder).figures(np.array([-1, 5])).bytes_moved == 5
    assert differences_between(before, reorder).figures(np.array([5, -1])).bytes_moved is None
    assert differences_between(before, reorder).figures().bytes_moved is None


@pytest.mark.parametrize(
    "unknown", [TopicPartition("a", 9), TopicPartition("0", 0), TopicPartition("z", 0)]
)
def test_a_partition_that_was_not_there_is_refused(unknown: TopicPartition) -> None:
    before = Assignment.from_mapping({TopicPartition("a", 0): ids(1)})
    with pytest.raises(UnknownTopicOrPartition, match=str(unknown)):
        differences_between(before, Assignment.from_mapping({unknown: ids(1)}))
