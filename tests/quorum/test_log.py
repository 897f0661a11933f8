"""The log as a value, beside the dullest possible one: a list of records with epochs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.quorum.log import Diverging, Log, NeedsSnapshot, SnapshotInfo, Valid
from kedge.quorum.values import Batch, EpochOffset

SIZES = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), max_size=8)


def _log(parts: list[tuple[int, int]], log: Log | None = None) -> Log:
    """A log of batches, given as (rise of the epoch, number of records)."""
    log = log or Log()
    epoch = max(1, log.last_epoch)
    for rise, count in parts:
        epoch += rise
        log = log.appended([Batch(log.end, epoch, tuple(range(count)), size=10)])
    return log


def _epochs(log: Log) -> list[int]:
    """The epoch of each record."""
    return [batch.epoch for batch in log.batches for _ in batch.records]


@given(SIZES, st.integers(0, 20), SIZES)
def test_versions_of_a_log_stay_as_they_were(
    parts: list[tuple[int, int]], offset: int, more: list[tuple[int, int]]
) -> None:
    log = _log(parts)
    before = log.batches
    cut = log.truncated(offset)
    kept = cut.batches
    left, right = _log(more, cut), _log([(1, 2)], cut)
    assert log.batches == before
    assert cut.batches == kept == tuple(batch for batch in before if batch.last < offset)
    assert left.batches[: len(kept)] == right.batches[: len(kept)] == kept
    assert right.end == cut.end + 2


@given(SIZES, st.integers(0, 25), st.integers(0, 10))
def test_where_logs_part_is_found_as_by_counting(
    parts: list[tuple[int, int]], offset: int, epoch: int
) -> None:
    log = _log(parts)
    epochs = _epochs(log)
    not_above = [e for e in epochs if e <= epoch]
    assert log.end_of_epoch(epoch).offset == len(not_above)
    checked = log.check(offset, epoch)
    has_it = offset == 0 or (offset <= len(not_above) and (not_above or [0])[-1] == epoch)
    assert isinstance(checked, Valid) is has_it
    if not has_it:
        assert isinstance(checked, Diverging)
        assert checked.end == EpochOffset((not_above or [0])[-1], len(not_above))


@given(SIZES, SIZES, SIZES)
def test_following_the_leaders_divergence_ends_in_its_log(
    shared: list[tuple[int, int]], mine: list[tuple[int, int]], leaders: list[tuple[int, int]]
) -> None:
    common = _log(shared)
    follower = _log(mine, common)
    last = follower.last_epoch
    leader = common
    for rise, count in leaders:  # a leader's epochs are its own: none is in the follower's log
        epoch = max(last, leader.last_epoch) + 1 + rise
        leader = leader.appended([Batch(leader.end, epoch, tuple(range(count)))])
    for _ in range(50):
        checked = leader.check(follower.end, follower.last_epoch)
        if isinstance(checked, Valid):
            break
        assert isinstance(checked, Diverging)
        follower = follower.truncated(follower.truncation_offset(checked.end))
    rest = leader.read(follower.end, max_bytes=10**9)
    assert follower.appended(rest).batches == leader.batches


def test_reading_gives_whole_batches_and_at_least_one() -> None:
    log = _log([(0, 3), (0, 2), (1, 1)])
    assert [batch.base for batch in log.read(0, max_bytes=20)] == [0, 3]
    assert [batch.base for batch in log.read(1, max_bytes=1)] == [0]
    assert [batch.base for batch in log.read(3, before=6, max_bytes=99)] == [3, 5]
    assert [batch.base for batch in log.read(3, before=5, max_bytes=99)] == [3]
    assert log.read(6, max_bytes=99) == ()
    assert (log.batch_start(4), log.batch_start(5), log.batch_start(6)) == (3, 5, 6)


def test_a_log_without_what_a_snapshot_covers() -> None:
    log = _log([(0, 3), (1, 2), (1, 1)])
    first = SnapshotInfo(EpochOffset(2, 5), 100)
    cut = log.with_snapshot(first).deleted_before(first.id)
    assert (cut.start, cut.end, cut.last_epoch) == (5, 6, 3)
    assert cut.check(4, 2) == NeedsSnapshot(first.id)
    assert cut.check(5, 1) == NeedsSnapshot(first.id)
    assert isinstance(cut.check(5, 2), Valid)
    assert isinstance(cut.check(6, 3), Valid)
    assert cut.check(6, 2) == Diverging(EpochOffset(2, 5))
    assert cut.appended([Batch(6, 3, ("x",))]).end == 7


def test_a_log_that_a_snapshot_replaces_begins_at_its_end() -> None:
    snapshot = SnapshotInfo(EpochOffset(4, 30), 100)
    log = _log([(0, 3)]).replaced_by(snapshot)
    assert (log.start, log.end, log.last_epoch, log.high_watermark) == (30, 30, 4, 30)
    assert log.position == EpochOffset(4, 30)


@pytest.mark.parametrize("base", [0, 2, 4])
def test_a_batch_must_continue_the_log(base: int) -> None:
    with pytest.raises(AssertionError):
        _log([(0, 3)]).appended([Batch(base, 1, ("x",))])
