"""A replica's log: identities, epochs, and bringing two logs together."""

from hypothesis import given
from hypothesis import strategies as st

from kedge.brokers.log import EpochEnd, ReplicaLog, divergence, truncation_offset
from tests.brokers.small_cluster import TP


def log_of(*epochs: int, identities: int = 0) -> ReplicaLog:
    log = ReplicaLog(TP, "id")
    for place, epoch in enumerate(epochs):
        log.append_new(identities + place, epoch, 1)
    return log


def test_the_end_of_an_epoch_is_where_the_next_begins() -> None:
    log = log_of(0, 0, 2, 2, 5)
    assert [log.end_of_epoch(epoch) for epoch in (0, 1, 2, 3, 5, 9)] == [
        EpochEnd(0, 2),
        EpochEnd(0, 2),
        EpochEnd(2, 4),
        EpochEnd(2, 4),
        EpochEnd(5, 5),
        EpochEnd(5, 5),
    ]
    assert log_of(3).end_of_epoch(1) == EpochEnd(-1, 0)


def test_truncation_forgets_records_epochs_and_the_watermark_above_it() -> None:
    log = log_of(0, 0, 2, 2, 5)
    log.high_watermark = log.checkpoint = 4
    log.truncate(2)
    assert (log.end_offset, log.last_epoch, log.high_watermark, log.checkpoint) == (2, 0, 2, 2)
    assert (log.size_bytes, log.lowest_truncation) == (2, 2)


def test_a_record_in_another_place_than_its_own_is_found_out() -> None:
    log = log_of(0, 0, 0)
    assert log.damaged_offsets() == []
    log.records[0], log.records[1] = log.records[1], log.records[0]
    assert log.damaged_offsets() == [0, 1]


def test_a_slice_has_at_least_one_record() -> None:
    log = ReplicaLog(TP, "id")
    for size in (10, 10, 50):
        log.append_new(size, 0, size)
    assert len(log.slice(0, 25)) == 2
    assert len(log.slice(2, 25)) == 1
    assert log.slice(3, 25) == []


epochs = st.lists(st.integers(0, 3), max_size=8).map(sorted)


@given(epochs, epochs, epochs)
def test_logs_that_parted_meet_again_in_their_common_part(
    common: list[int], leaders: list[int], followers: list[int]
) -> None:
    # an epoch has one leader, so after the parting no epoch is in both logs
    top = max(common, default=0)
    leader = log_of(*common, *[top + 2 * e + 1 for e in leaders])
    follower = log_of(*common, *[top + 2 * e + 2 for e in followers], identities=0)
    rounds = 0
    while (parted := divergence(leader, follower.end_offset, follower.last_epoch)) is not None:
        follower.truncate(truncation_offset(follower, parted))
        rounds += 1
        assert rounds <= 10
    assert follower.records == leader.records[: follower.end_offset]
    assert follower.end_offset >= len(common)
