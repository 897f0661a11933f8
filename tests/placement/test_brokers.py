"""Which brokers take part, and whether their racks count."""

from __future__ import annotations

import pytest

from kedge.errors import InconsistentRacks
from kedge.model import Broker, BrokerId
from kedge.placement import RackMode, choose_brokers

MIXED = [Broker(BrokerId(2), "b"), Broker(BrokerId(0), "a"), Broker(BrokerId(1))]
RACKED = MIXED[:2]
BARE = [Broker(BrokerId(i)) for i in (4, 3)]


def chosen(registered: list[Broker], mode: RackMode, *only: int) -> list[tuple[int, str | None]]:
    wanted = [BrokerId(i) for i in only] if only else None
    return [(b.id, b.rack) for b in choose_brokers(registered, mode, wanted)]


@pytest.mark.parametrize(
    ("registered", "mode", "expected"),
    [
        (RACKED, RackMode.ENFORCED, [(0, "a"), (2, "b")]),
        (RACKED, RackMode.SAFE, [(0, "a"), (2, "b")]),
        (RACKED, RackMode.DISABLED, [(0, None), (2, None)]),
        (MIXED, RackMode.SAFE, [(0, None), (1, None), (2, None)]),
        (MIXED, RackMode.DISABLED, [(0, None), (1, None), (2, None)]),
        (BARE, RackMode.ENFORCED, [(3, None), (4, None)]),
        ([], RackMode.ENFORCED, []),
    ],
)
def test_brokers_come_sorted_with_racks_kept_or_dropped_for_all(
    registered: list[Broker], mode: RackMode, expected: list[tuple[int, str | None]]
) -> None:
    assert chosen(registered, mode) == expected


def test_mixed_racks_are_refused_where_racks_are_enforced() -> None:
    with pytest.raises(InconsistentRacks, match="brokers 0, 2 with a rack, broker 1 without"):
        choose_brokers(MIXED)


def test_racks_are_judged_after_the_choice() -> None:
    assert chosen(MIXED, RackMode.ENFORCED, 2, 0) == [(0, "a"), (2, "b")]
    assert chosen(MIXED, RackMode.SAFE, 0) == [(0, "a")]


def test_ids_that_nobody_registered_are_passed_over() -> None:
    assert chosen(BARE, RackMode.ENFORCED, 999, 3) == [(3, None)]


def test_the_empty_name_is_a_rack() -> None:
    cluster = [Broker(BrokerId(0), ""), Broker(BrokerId(1), "a")]
    assert chosen(cluster, RackMode.ENFORCED) == [(0, ""), (1, "a")]


def test_an_empty_choice_is_a_choice() -> None:
    assert choose_brokers(BARE, RackMode.ENFORCED, []) == []
