"""Why partitions change, in words."""

from __future__ import annotations

import numpy as np

from kedge.balance.output.reasons import broker_causes, reason
from tests.balance.snapshots import broker, cluster


def causes() -> object:
    brokers = [
        *(broker(10), broker(11), broker(12), broker(13, state="draining")),
        *(broker(14, state="dead"), broker(15, state="new")),
    ]
    snapshot = cluster(brokers, {"t": [([10], 1)]})
    loads = np.zeros((6, 6))
    loads[:, 0] = [1, 1, 1, 0, 0, 1]
    loads[:, 2] = [1.18, 0.7, 1.0, 0.5, 0.3, 0.32]
    return broker_causes(snapshot, loads, np.ones((6, 6)), ["disk", "out"])


def said(before: list[int], after: list[int], wanted: int = 0, *, crowded: bool = False) -> str:
    told = causes()
    return reason("orders-3", before, after, told, wanted or len(before), crowded=crowded)  # pyright: ignore[reportArgumentType]


def test_leadership_that_moves_names_who_carries_too_much() -> None:
    assert said([0, 1], [1, 0]) == (
        "broker 10 holds 18 % more than its share of bytes out; "
        "moving leadership of orders-3 to 11 costs no data"
    )


def test_leadership_is_never_explained_by_a_load_that_it_does_not_change() -> None:
    snapshot = cluster([broker(10), broker(11)], {"t": [([10], 1)]})
    loads = np.zeros((2, 6))
    loads[:, 0] = [9, 1]  # disk: far off its share
    loads[:, 4] = [3, 1]  # leaders
    told = broker_causes(snapshot, loads, np.ones((2, 6)), ["disk", "leaders"])
    assert reason("orders-3", [0, 1], [1, 0], told, 2, crowded=False) == (
        "broker 10 holds 50 % more than its share of leaders; "
        "moving leadership of orders-3 to 11 costs no data"
    )
    bare = broker_causes(snapshot, loads, np.ones((2, 6)), ["disk"])
    assert reason("orders-3", [0, 1], [1, 0], bare, 2, crowded=False) == (
        "evens out leaders of broker 10; moving leadership of orders-3 to 11 costs no data"
    )


def test_a_replica_that_moves_names_who_gives_and_who_takes() -> None:
    assert said([0, 2], [5, 2]) == (
        "broker 10 holds 18 % more than its share of bytes out; broker 15 is new"
    )
    assert said([2, 0], [2, 1]) == (
        "broker 10 holds 18 % more than its share of bytes out; "
        "broker 11 holds 30 % less than its share of bytes out"
    )


def test_what_has_to_move_says_so_first() -> None:
    assert said([3, 2], [5, 2]) == "broker 13 is draining and must end empty; broker 15 is new"
    assert said([4, 2], [2, 5]).startswith("broker 14 is dead and must end empty; broker 15 is new")
    assert said([0, 2], [0, 2, 5], wanted=3).startswith("orders-3 has 2 of 3 replicas; broker 15")
    assert said([0, 2], [2], wanted=1).startswith("orders-3 has 2 replicas, 1 are wanted")
    assert said([0, 2], [0, 5], crowded=True).startswith("replicas of orders-3 shared a rack")
