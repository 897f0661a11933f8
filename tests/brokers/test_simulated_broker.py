"""What a broker checks, and how it replicates."""

import pytest

from kedge.brokers.around import IsrDecision
from kedge.model import BrokerId
from kedge.model.broker_requests import DELETED_EPOCH
from kedge.model.error_codes import ErrorCode
from tests.brokers.world import TP, SmallWorld, lead_request, sender, stop_request


def code(world: SmallWorld, broker: int, **wanted: object) -> ErrorCode:
    request = lead_request(broker, (1, 2), 1, isr=(1, 2), **wanted)  # pyright: ignore[reportArgumentType]
    answer = world[broker].handle(request)
    assert answer.error is ErrorCode.NONE
    return (answer.errors or {})[TP]


# ---- checks ----


def test_an_older_broker_epoch_is_refused_before_the_controller_epoch_is_looked_at() -> None:
    world = SmallWorld(1)
    world[1].epoch = 50
    stale = sender(controller_epoch=9, broker_epoch=49)
    answer = world[1].handle(lead_request(1, (1,), 1, epoch=0, isr=(1,), spoken_by=stale))
    assert answer.error is ErrorCode.STALE_BROKER_EPOCH
    assert answer.errors == {TP: ErrorCode.STALE_BROKER_EPOCH}
    assert world[1].controller_epoch == 1


@pytest.mark.parametrize("broker_epoch", [-1, 50, 51])
def test_no_equal_or_newer_broker_epoch_is_refused(broker_epoch: int) -> None:
    world = SmallWorld(1)
    world[1].epoch = 50
    fresh = sender(broker_epoch=broker_epoch)
    answer = world[1].handle(lead_request(1, (1,), 1, epoch=0, isr=(1,), spoken_by=fresh))
    assert answer.errors == {TP: ErrorCode.NONE}


def test_the_highest_controller_epoch_seen_in_any_request_counts_for_all() -> None:
    world = SmallWorld(1)
    world[1].handle(stop_request(1, epoch=-1, delete=False, spoken_by=sender(controller_epoch=7)))
    for request in (
        world.metadata(BrokerId(1)),
        stop_request(1, epoch=-1, delete=True),
        lead_request(1, (1,), 1, epoch=0, isr=(1,)),
    ):
        answer = world[1].handle(request)
        assert answer.error is ErrorCode.STALE_CONTROLLER_EPOCH
        assert not answer.errors


def test_only_a_higher_leader_epoch_changes_anything() -> None:
    world = SmallWorld(1, 2)
    assert code(world, 1, epoch=5, partition_epoch=5) is ErrorCode.NONE
    assert code(world, 1, epoch=5, partition_epoch=6) is ErrorCode.STALE_CONTROLLER_EPOCH
    assert code(world, 1, epoch=4, partition_epoch=6) is ErrorCode.STALE_CONTROLLER_EPOCH
    assert world[1].hosted[TP].partition_epoch == 5


def test_a_lower_partition_epoch_is_skipped_in_silence() -> None:
    world = SmallWorld(1, 2)
    code(world, 1, epoch=5, partition_epoch=5)
    assert code(world, 1, epoch=6, partition_epoch=4) is ErrorCode.NONE
    assert world[1].hosted[TP].leader_epoch == 5


def test_a_broker_that_is_no_replica_does_not_know_the_partition() -> None:
    world = SmallWorld(1, 2, 3)
    assert code(world, 3, epoch=0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert TP not in world[3].hosted


def test_the_log_of_another_topic_of_that_name_is_not_touched() -> None:
    world = SmallWorld(1, 2)
    code(world, 1, epoch=0)
    world.start(1)
    assert code(world, 1, epoch=1, topic_id="another") is ErrorCode.INCONSISTENT_TOPIC_ID


def test_a_missing_topic_id_is_filled_in_at_the_same_epoch() -> None:
    world = SmallWorld(1, 2)
    code(world, 1, epoch=0, topic_id="")
    assert code(world, 1, epoch=0) is ErrorCode.NONE
    assert code(world, 1, epoch=0) is ErrorCode.STALE_CONTROLLER_EPOCH


def test_a_leader_that_nobody_announced_is_not_followed_and_the_epoch_stays_open() -> None:
    world = SmallWorld(1, 2)
    world[2].handle(world.metadata(BrokerId(2), live=(BrokerId(2),)))
    assert code(world, 2, epoch=3) is ErrorCode.NONE
    assert world.disks[BrokerId(2)].find(TP) is not None
    assert world[2].hosted[TP].leader_epoch == -1
    world[2].handle(world.metadata(BrokerId(2)))
    code(world, 2, epoch=3)
    assert world[2].hosted[TP].is_following


def test_stopping_with_an_older_epoch_is_fenced() -> None:
    world = SmallWorld(1, 2)
    code(world, 1, epoch=5)
    errors = [
        (world[1].handle(stop_request(1, epoch=epoch, delete=False)).errors or {})[TP]
        for epoch in (4, 5, -1, DELETED_EPOCH)
    ]
    assert errors == [ErrorCode.FENCED_LEADER_EPOCH, *[ErrorCode.NONE] * 3]


def test_after_a_stop_the_same_epoch_is_old_and_after_a_deletion_it_is_new() -> None:
    world = SmallWorld(1, 2)
    code(world, 2, epoch=5)
    world[2].handle(stop_request(2, epoch=5, delete=False))
    assert code(world, 2, epoch=5) is ErrorCode.STALE_CONTROLLER_EPOCH
    world[2].handle(stop_request(2, epoch=5, delete=True))
    assert world.disks[BrokerId(2)].find(TP) is None
    assert code(world, 2, epoch=5) is ErrorCode.NONE


def test_deleting_what_is_not_hosted_removes_what_an_earlier_run_left() -> None:
    world = SmallWorld(1, 2)
    code(world, 1, epoch=0)
    world.start(1)
    answer = world[1].handle(stop_request(1, epoch=-1, delete=True))
    assert answer.errors == {TP: ErrorCode.NONE}
    assert world.disks[BrokerId(1)].held() == {}


def test_metadata_replaces_the_live_brokers() -> None:
    world = SmallWorld(1, 2)
    world[1].handle(world.metadata(BrokerId(1), live=(BrokerId(2),)))
    assert world[1].live == {2}
    assert world[1].controller == 1000


# ---- replication ----


def test_a_record_is_acked_when_every_in_sync_replica_has_it() -> None:
    world = SmallWorld(1, 2, 3)
    world.lead(1, epoch=0)
    acked = world.produce(1, 77)
    assert acked == []
    world.run()
    assert acked == [0]
    assert [world.identities(b) for b in (1, 2, 3)] == [[77]] * 3


def test_a_record_waits_for_a_member_that_is_gone_until_the_isr_shrinks() -> None:
    world = SmallWorld(1, 2)
    world.lead(1, epoch=0)
    world.run()
    world[2].halt()
    acked = world.produce(1, 77)
    world.run(9_000)
    world[1].tick()
    world.run()
    assert acked == []
    world.run(2_000)
    world[1].tick()
    world.run()
    assert [change.isr for change in world.changes] == [(1,)]
    assert acked == [0]


def test_while_a_change_is_undecided_everybody_of_either_isr_must_have_a_record() -> None:
    world = SmallWorld(1, 2, 3)
    world.decide = lambda _: None
    world.lead(1, epoch=0, isr=(1, 2))
    world.run()
    assert world.changes[0].isr in ((1, 2, 3),)
    world[3].halt()
    acked = world.produce(1, 77)
    world.run(300)
    assert world.identities(2) == [77]
    assert acked == []


def test_a_change_whose_answer_was_lost_is_asked_for_again_unchanged() -> None:
    world = SmallWorld(1, 2)
    world.decide = lambda _: None
    world.lead(1, epoch=0, isr=(1,))
    world.run(2_000)
    assert len(world.changes) > 2
    assert len(set(world.changes)) == 1


def test_a_refused_member_leaves_the_isr_as_it_was() -> None:
    world = SmallWorld(1, 2)
    world.decide = lambda _: IsrDecision(ErrorCode.INELIGIBLE_REPLICA)
    world.lead(1, epoch=0, isr=(1,))
    world.run()
    acked = world.produce(1, 5)
    assert acked == [0]


def test_too_few_in_sync_replicas_take_no_records() -> None:
    world = SmallWorld(1, 2)
    world.min_isr = 2
    world.lead(1, epoch=0, isr=(1,), to=(1,))
    assert world.produce(1, 5) == [None]
    assert world.identities(1) == []


def test_a_follower_with_records_of_a_lost_leadership_drops_them() -> None:
    world = SmallWorld(1, 2, 3)
    world.lead(1, epoch=0)
    world.produce(1, 10)
    world.run()
    # 1 is cut off and takes a record that nobody else gets
    unheard = world.produce(1, 11)
    world[2].hosted[TP].stop()
    world[3].hosted[TP].stop()
    world.lead(2, epoch=1, isr=(2, 3), to=(2, 3))
    world.produce(2, 12)
    world.run()
    world.lead(2, epoch=2, isr=(2, 3))
    world.run()
    assert unheard == [None]
    assert [world.identities(b) for b in (1, 2, 3)] == [[10, 12]] * 3


def test_a_new_leader_does_not_take_in_a_follower_below_where_it_began() -> None:
    world = SmallWorld(1, 2)
    world.lead(1, epoch=0)
    world.produce(1, 10)
    world.run()
    log = world.disks[BrokerId(2)].find(TP)
    assert log is not None
    # after a restart both know a watermark of 0 and one follower has an empty log
    world.start(1)
    world.start(2)
    log.truncate(0)
    world.lead(1, epoch=1, isr=(1,), to=(1,))
    leading = world[1].hosted[TP].leading
    assert leading is not None
    leading.log.high_watermark = 0
    leading.fetched(BrokerId(2), 0, 0)
    assert not leading.may_join(BrokerId(2))
    leading.fetched(BrokerId(2), 1, 0)
    assert leading.may_join(BrokerId(2))


def leader_with_an_uncommitted_record() -> tuple[SmallWorld, list[int | None]]:
    """Broker 1 leads in epoch 0; broker 2 has fetched its record, broker 3 has not."""
    world = SmallWorld(1, 2, 3)
    world.lead(1, epoch=0, to=(1, 2))
    world.run()
    waiting = world.produce(1, 10)
    world.run()
    assert (world.identities(2), waiting) == ([10], [])
    return world, waiting


def test_a_leader_that_missed_an_epoch_waits_until_its_followers_have_fetched_again() -> None:
    world, waiting = leader_with_an_uncommitted_record()
    world.lead(3, epoch=1, to=(2, 3))
    world.run()
    assert world.identities(2) == []
    world.lead(1, epoch=2, isr=(1, 2), to=(1,))
    assert waiting == []
    world.lead(1, epoch=2, isr=(1, 2), to=(2,))
    world.run()
    assert (world.identities(2), waiting) == ([10], [0])


def test_in_the_next_epoch_a_leader_still_knows_how_far_its_followers_are() -> None:
    world, waiting = leader_with_an_uncommitted_record()
    world.lead(1, epoch=1, isr=(1, 2), to=(1,))
    assert waiting == [0]


def test_logs_survive_a_restart_and_the_watermark_is_the_one_on_disk() -> None:
    world = SmallWorld(1, 2)
    world.lead(1, epoch=0)
    world.produce(1, 10)
    world.run()
    world[1].tick()
    world.produce(1, 11)
    world.run()
    world.start(1)
    log = world.disks[BrokerId(1)].find(TP)
    assert log is not None
    assert (world.identities(1), log.high_watermark) == ([10, 11], 1)


# ---- directories ----


def test_a_failed_directory_takes_its_replicas_offline_until_a_restart() -> None:
    world = SmallWorld(1, 2)
    world.lead(1, epoch=0)
    waiting = world.produce(1, 10)
    name = world.disks[BrokerId(1)].directory_of(TP)
    assert name is not None
    world[1].fail_directory(name)
    assert waiting == [None]
    assert world.announced == [1]
    assert code(world, 1, epoch=1) is ErrorCode.KAFKA_STORAGE_ERROR
    stop = world[1].handle(stop_request(1, epoch=9, delete=True))
    assert stop.errors == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    world.disks[BrokerId(1)].failed.clear()
    world.start(1)
    assert code(world, 1, epoch=1) is ErrorCode.NONE
    assert world.identities(1) == [10]


def test_with_a_failed_directory_only_a_new_replica_gets_a_log() -> None:
    world = SmallWorld(1, 2)
    world[1].fail_directory("d0")
    assert code(world, 1, epoch=0) is ErrorCode.KAFKA_STORAGE_ERROR
    assert code(world, 1, epoch=0, is_new=True) is ErrorCode.NONE
    assert world.disks[BrokerId(1)].directory_of(TP) == "d1"
