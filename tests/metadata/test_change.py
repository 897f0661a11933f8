"""The rules by which one partition changes, one sentence each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kedge.metadata.change import Election, Rules, Wanted, changed
from kedge.metadata.image import Partition
from kedge.metadata.records import (
    LEADER_UNCHANGED,
    NO_LEADER,
    RECOVERED,
    RECOVERING,
    PartitionChangeRecord,
)

KEY = ("topic", 0)
PLAIN = Rules(level=27, elr=False, min_isr=1, default_directory=lambda broker: f"dir{broker}")
ELR = replace(PLAIN, elr=True, min_isr=2)
NOW = Partition((1, 2, 3), (1, 2, 3), 1, ("dir1", "dir2", "dir3"))


def change(
    wanted: Wanted, now: Partition = NOW, alive: str = "123", rules: Rules = PLAIN
) -> PartitionChangeRecord | None:
    return changed(KEY, now, wanted, lambda broker: str(broker) in alive, rules)


def record(**fields: object) -> PartitionChangeRecord:
    return PartitionChangeRecord(0, "topic", **fields)  # pyright: ignore[reportArgumentType]


def test_nothing_wanted_is_nothing_written() -> None:
    assert change(Wanted()) is None


def test_a_shrunk_isr_keeps_the_leader_and_its_epoch() -> None:
    assert change(Wanted(isr=(1, 2))) == record(isr=(1, 2))


def test_before_36_a_shrink_raises_the_leader_epoch() -> None:
    old = replace(PLAIN, level=10)
    assert change(Wanted(isr=(1, 2)), rules=old) == record(isr=(1, 2), leader=1)


def test_a_lost_leader_is_replaced_by_the_first_replica_in_sync() -> None:
    assert change(Wanted(isr=(2, 3)), alive="23") == record(isr=(2, 3), leader=2)


def test_the_last_member_of_an_isr_stays_in_it_without_elr() -> None:
    alone = replace(NOW, isr=(1,))
    assert change(Wanted(isr=()), alone, alive="23") == record(leader=NO_LEADER)


def test_an_unclean_election_takes_any_live_replica_and_marks_the_recovery() -> None:
    alone = replace(NOW, isr=(1,))
    wanted = Wanted(isr=(), election=Election.UNCLEAN)
    assert change(wanted, alone, alive="23") == record(
        isr=(2,), leader=2, leader_recovery_state=RECOVERING
    )


def test_a_preferred_election_prefers_the_first_replica() -> None:
    led_by_2 = replace(NOW, leader=2)
    wanted = Wanted(election=Election.PREFERRED)
    assert change(wanted, led_by_2) == record(leader=1)
    assert change(wanted, led_by_2, alive="23") is None


def test_recovery_ends_when_the_leader_says_so() -> None:
    recovering = replace(NOW, recovery=RECOVERING, isr=(1,))
    made = change(Wanted(isr=(1,), recovery=RECOVERED), recovering)
    assert made == record(leader_recovery_state=RECOVERED)


# ---- reassignment --------------------------------------------------------------------------------


def test_a_started_move_adds_replicas_and_raises_no_epoch() -> None:
    wanted = Wanted(replicas=(1, 4, 2, 3), adding=(4,), removing=(2, 3))
    assert change(wanted, alive="1234") == record(
        replicas=(1, 4, 2, 3),
        adding_replicas=(4,),
        removing_replicas=(2, 3),
        directories=("dir1", "dir4", "dir2", "dir3"),
    )


def test_a_move_is_finished_when_the_whole_target_is_in_sync() -> None:
    moving = Partition(
        (1, 4, 2, 3), (1, 2, 3), 1, ("d1", "d4", "d2", "d3"), removing=(2, 3), adding=(4,)
    )
    assert change(Wanted(isr=(1, 2, 3)), moving, alive="1234") is None
    assert change(Wanted(isr=(1, 2, 4)), moving, alive="1234") == record(
        isr=(1, 4),
        leader=1,
        replicas=(1, 4),
        adding_replicas=(),
        removing_replicas=(),
        directories=("d1", "d4"),
    )


def test_a_reordering_is_written_without_a_new_epoch() -> None:
    made = change(Wanted(replicas=(3, 2, 1)))
    assert made is not None
    assert made.leader == LEADER_UNCHANGED
    assert made.replicas == (3, 2, 1)
    assert made.directories == ("dir3", "dir2", "dir1")


# ---- eligible leader replicas --------------------------------------------------------------------


def test_who_leaves_an_isr_that_is_too_small_is_eligible() -> None:
    assert change(Wanted(isr=(1,)), replace(NOW, isr=(1, 2)), rules=ELR) == record(
        isr=(1,), eligible_leader_replicas=(2,)
    )


def test_an_isr_of_sufficient_size_clears_the_eligible_ones() -> None:
    now = replace(NOW, isr=(1,), elr=(2,))
    assert change(Wanted(isr=(1, 3)), now, rules=ELR) == record(
        isr=(1, 3), eligible_leader_replicas=()
    )


def test_with_elr_an_isr_may_become_empty_and_the_leader_is_remembered() -> None:
    alone = replace(NOW, isr=(1,), elr=(2,))
    assert change(Wanted(isr=()), alone, alive="3", rules=ELR) == record(
        isr=(), leader=NO_LEADER, eligible_leader_replicas=(1, 2), last_known_elr=(1,)
    )


def test_an_eligible_replica_is_elected_when_the_isr_is_empty() -> None:
    empty = replace(NOW, isr=(), leader=NO_LEADER, elr=(1, 2), last_known_elr=(1,))
    assert change(Wanted(isr=()), empty, alive="2", rules=ELR) == record(
        isr=(2,), leader=2, eligible_leader_replicas=(1,), last_known_elr=()
    )


def test_the_last_known_leader_is_elected_when_nothing_else_is_left() -> None:
    empty = replace(NOW, isr=(), leader=NO_LEADER, last_known_elr=(1,))
    assert change(Wanted(isr=()), empty, alive="2", rules=ELR) is None
    assert change(Wanted(isr=()), empty, alive="12", rules=ELR) == record(
        isr=(1,), leader=1, leader_recovery_state=RECOVERING, last_known_elr=()
    )


def test_a_broker_that_may_have_lost_records_is_not_eligible() -> None:
    now = replace(NOW, isr=(1, 2))
    wanted = Wanted(isr=(1,), unclean_shutdown=2)
    assert change(wanted, now, rules=ELR) == record(isr=(1,))


@pytest.mark.parametrize("level", [7, 16])
def test_no_directories_are_written_before_37(level: int) -> None:
    made = change(Wanted(replicas=(3, 2, 1)), rules=replace(PLAIN, level=level))
    assert made is not None
    assert made.directories is None
