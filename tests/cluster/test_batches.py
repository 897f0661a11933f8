"""Large calls in small requests."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kedge.cluster.batches import batches


@given(st.lists(st.integers(1, 20)), st.integers(1, 30))
def test_batches_hold_every_item_in_order_within_the_limit(items: list[int], limit: int) -> None:
    made = list(batches(items, limit, lambda item: item))
    assert [item for batch in made for item in batch] == items
    assert all(batch for batch in made)
    assert all(sum(batch) <= limit or len(batch) == 1 for batch in made)


@given(st.lists(st.integers(1, 20), min_size=1), st.integers(1, 30))
def test_no_batch_could_have_taken_the_next_item(items: list[int], limit: int) -> None:
    made = list(batches(items, limit, lambda item: item))
    assert all(sum(a) + b[0] > limit for a, b in pairwise(made))


def test_ten_thousand_items_are_five_batches_of_two_thousand() -> None:
    assert [len(batch) for batch in batches(range(10_000), 2_000)] == [2_000] * 5
