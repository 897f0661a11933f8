"""Moves that do not get on, and the rate that they need."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kedge.execution.stuck_moves import (
    GrowingMove,
    GrowthMeter,
    Idle,
    MoveBytes,
    MoveWatch,
    NeededRate,
    StuckEvidence,
    needed_rate,
    why_stuck,
)
from kedge.model import BrokerId, TopicPartition

B1, B2, B3, B4 = map(BrokerId, (1, 2, 3, 4))
TP, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_move_without_new_bytes_is_told_from_one_that_never_ends() -> None:
    watch = MoveWatch()
    assert watch.at(0.0, {TP: MoveBytes(10, 100), OTHER: MoveBytes(10, 100)})[TP] == Idle(0, 0)
    idle = watch.at(60.0, {TP: MoveBytes(10, 100), OTHER: MoveBytes(20, 110)})
    assert idle == {TP: Idle(60, 60), OTHER: Idle(0, 60)}
    idle = watch.at(120.0, {TP: MoveBytes(11, 100), OTHER: MoveBytes(40, 111)})
    assert idle == {TP: Idle(0, 0), OTHER: Idle(0, 0)}
    assert watch.at(130.0, {TP: MoveBytes(11, 100)}) == {TP: Idle(10, 10)}
    assert watch.at(140.0, {OTHER: MoveBytes(40, 111)}) == {OTHER: Idle(0, 0)}  # begun anew


def test_growth_is_measured_over_half_a_minute_at_least() -> None:
    meter = GrowthMeter()
    assert meter.at(0.0, {TP: 1000}) == {TP: 0.0}
    assert meter.at(29.0, {TP: 4000}) == {TP: 0.0}
    assert meter.at(30.0, {TP: 4000}) == {TP: 100.0}
    assert meter.at(60.0, {TP: 500}) == {TP: 0.0}  # retention deletes


def test_growth_forgets_what_is_long_ago() -> None:
    meter = GrowthMeter()
    for at in range(0, 600, 5):
        meter.at(float(at), {TP: 0})
    late = [meter.at(float(at), {TP: (at - 600) * 100})[TP] for at in range(600, 900, 5)]
    assert late[-1] == 100.0


def test_the_needed_rate_is_that_of_the_busiest_broker_in_either_direction() -> None:
    assert needed_rate([]) == NeededRate(0)
    assert needed_rate([GrowingMove(B1, (B4,), 0.0)]) == NeededRate(0)
    into = [GrowingMove(B1, (B4,), 100.0), GrowingMove(B2, (B4,), 50.0)]
    assert needed_rate(into) == NeededRate(165, B4)
    out = [GrowingMove(B1, (B3, B4), 100.0), GrowingMove(None, (B4,), 20.0)]
    assert needed_rate(out) == NeededRate(220, B1)


BASE = StuckEvidence(B1, (B4,))


@pytest.mark.parametrize(
    ("evidence", "why"),
    [
        (replace(BASE, down=(B4,)), "broker 4 is down"),
        (replace(BASE, leader=None), "the partition has no leader"),
        (
            replace(BASE, offline_log_dirs=("/a on broker 4",)),
            "log directory /a on broker 4 is off",
        ),
        (replace(BASE, full_log_dirs=("/a on broker 4",)), "/a on broker 4 has too little space"),
        (replace(BASE, rate=10, needed=NeededRate(99, B4)), "too low: broker 4 needs 99"),
        (replace(BASE, without_replica=(B4,)), "broker 4 has not created the replica"),
        (BASE, "its replica fetcher may have died"),
    ],
)
def test_the_likeliest_reason_is_named(evidence: StuckEvidence, why: str) -> None:
    assert why in why_stuck(evidence).why
