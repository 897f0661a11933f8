"""What a snapshot makes superfluous."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kedge.kraft.retention import needed_from
from kedge.kraft.values import ControllerConfig
from kedge.quorum.log import Log, SnapshotInfo
from kedge.quorum.values import EpochOffset
from tests.kraft.nodes import Quorum

DAY_MS = 24 * 3_600_000
NOW_MS = 100 * DAY_MS


def config(**limits: int | None) -> ControllerConfig:
    return replace(Quorum(1).active().config, **limits)  # type: ignore[arg-type]


def log(*ages_days: int | None) -> Log:
    """A log with a snapshot of each age at the offsets 10, 20, …"""
    snapshots = tuple(
        SnapshotInfo(EpochOffset(1, at * 10), 100, None if age is None else NOW_MS - age * DAY_MS)
        for at, age in enumerate(ages_days, 1)
    )
    return Log(snapshots=snapshots)


@pytest.mark.parametrize(
    ("ages", "needed"),
    [
        ((), None),
        ((30,), None),  # the newest is always needed
        ((6, 1), None),
        ((8, 1), 20),
        ((30, 9, 1), 30),
        ((30, 6, 1), 20),
        ((None, 9, 1), None),  # the age of the oldest is not known
    ],
)
def test_old_snapshots_are_not_needed_behind_a_newer_one(
    ages: tuple[int | None, ...], needed: int | None
) -> None:
    found = needed_from(log(*ages), config(retention_ms=7 * DAY_MS), NOW_MS)
    assert (found and found.offset) == needed


def test_without_a_limit_of_age_all_are_kept() -> None:
    assert needed_from(log(90, 80, 70), config(retention_ms=None), NOW_MS) is None


def test_what_is_larger_than_the_retention_goes_at_once() -> None:
    limits = config(retention_bytes=150, retention_ms=None)
    assert needed_from(log(2, 1), limits, NOW_MS) is None
    assert needed_from(log(3, 2, 1), limits, NOW_MS) == EpochOffset(1, 30)
