"""What a broker checks, and how it replicates."""

import pytest

from kedge.brokers.environment import IsrDecision
from kedge.model import BrokerId
from kedge.model.broker_requests import DELETED_EPOCH
from kedge.model.error_codes import ErrorCode
from tests.brokers.small_cluster import TP, SmallCluster, lead_request, sender, stop_request


def code(cluster: SmallCluster, broker: int, **wanted: object) -> ErrorCode:
    request = lead_request(broker, (1, 2), 1, isr=(1, 2), **wanted)  # pyright: ignore[reportArgumentType]
    answer = cluster[broker].handle(request)
    assert answer.error is ErrorCode.NONE
    return (answer.errors or {})[TP]


# ---- checks ----


def test_an_older_broker_epoch_is_refused_before_the_controller_epoch_is_looked_at() -> None:
    cluster = SmallCluster(1)
    cluster[1].epoch = 50
    stale = sender(controller_epoch=9, broker_epoch=49)
    answer = cluster[1].handle(lead_request(1, (1,), 1, epoch=0, isr=(1,), spoken_by=stale))
    assert answer.error is ErrorCode.STALE_BROKER_EPOCH
    assert answer.errors == {TP: ErrorCode.STALE_BROKER_EPOCH}
    assert cluster[1].controller_epoch == 1


@pytest.mark.parametrize("broker_epoch", [-1, 50, 51])
def test_no_equal_or_newer_broker_epoch_is_refused(broker_epoch: int) -> None:
    cluster = SmallCluster(1)
    cluster[1].epoch = 50
    fresh = sender(broker_epoch=broker_epoch)
    answer = cluster[1].handle(lead_request(1, (1,), 1, epoch=0, isr=(1,), spoken_by=fresh))
    assert answer.errors == {TP: ErrorCode.NONE}


def test_the_highest_controller_epoch_seen_in_any_request_counts_for_all() -> None:
    cluster = SmallCluster(1)
    cluster[1].handle(stop_request(1, epoch=-1, delete=False, spoken_by=sender(controller_epoch=7)))
    for request in (
        cluster.metadata(BrokerId(1)),
        stop_request(1, epoch=-1, delete=True),
        lead_request(1, (1,), 1, epoch=0, isr=(1,)),
    ):
        answer = cluster[1].handle(request)
        assert answer.error is ErrorCode.STALE_CONTROLLER_EPOCH
        assert not answer.errors


def test_only_a_higher_leader_epoch_changes_anything() -> None:
    cluster = SmallCluster(1, 2)
    assert code(cluster, 1, epoch=5, partition_epoch=5) is ErrorCode.NONE
    assert code(cluster, 1, epoch=5, partition_epoch=6) is ErrorCode.STALE_CONTROLLER_EPOCH
    assert code(cluster, 1, epoch=4, partition_epoch=6) is ErrorCode.STALE_CONTROLLER_EPOCH
    assert cluster[1].hosted[TP].partition_epoch == 5


def test_a_lower_partition_epoch_is_skipped_in_silence() -> None:
    cluster = SmallCluster(1, 2)
    code(cluster, 1, epoch=5, partition_epoch=5)
    assert code(cluster, 1, epoch=6, partition_epoch=4) is ErrorCode.NONE
    assert cluster[1].hosted[TP].leader_epoch == 5


def test_a_broker_that_is_no_replica_does_not_know_the_partition() -> None:
    cluster = SmallCluster(1, 2, 3)
    assert code(cluster, 3, epoch=0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert TP not in cluster[3].hosted


def test_the_log_of_another_topic_of_that_name_is_not_touched() -> None:
    cluster = SmallCluster(1, 2)
    code(cluster, 1, epoch=0)
    cluster.start(1)
    assert code(cluster, 1, epoch=1, topic_id="another") is ErrorCode.INCONSISTENT_TOPIC_ID


def test_a_missing_topic_id_is_filled_in_at_the_same_epoch() -> None:
    cluster = SmallCluster(1, 2)
    code(cluster, 1, epoch=0, topic_id="")
    assert code(cluster, 1, epoch=0) is ErrorCode.NONE
    assert code(cluster, 1, epoch=0) is ErrorCode.STALE_CONTROLLER_EPOCH


def test_a_leader_that_nobody_announced_is_not_followed_and_the_epoch_stays_open() -> None:
    cluster = SmallCluster(1, 2)
    cluster[2].handle(cluster.metadata(BrokerId(2), live=(BrokerId(2),)))
    assert code(cluster, 2, epoch=3) is ErrorCode.NONE
    assert cluster.disks[BrokerId(2)].find(TP) is not None
    assert cluster[2].hosted[TP].leader_epoch == -1
    cluster[2].handle(cluster.metadata(BrokerId(2)))
    code(cluster, 2, epoch=3)
    assert cluster[2].hosted[TP].is_following


def test_stopping_with_an_older_epoch_is_fenced() -> None:
    cluster = SmallCluster(1, 2)
    code(cluster, 1, epoch=5)
    errors = [
        (cluster[1].handle(stop_request(1, epoch=epoch, delete=False)).errors or {})[TP]
        for epoch in (4, 5, -1, DELETED_EPOCH)
    ]
    assert errors == [ErrorCode.FENCED_LEADER_EPOCH, *[ErrorCode.NONE] * 3]


def test_after_a_stop_the_same_epoch_is_old_and_after_a_deletion_it_is_new() -> None:
    cluster = SmallCluster(1, 2)
    code(cluster, 2, epoch=5)
    cluster[2].handle(stop_request(2, epoch=5, delete=False))
    assert code(cluster, 2, epoch=5) is ErrorCode.STALE_CONTROLLER_EPOCH
    cluster[2].handle(stop_request(2, epoch=5, delete=True))
    assert cluster.disks[BrokerId(2)].find(TP) is None
    assert code(cluster, 2, epoch=5) is ErrorCode.NONE


def test_deleting_what_is_not_hosted_removes_what_an_earlier_run_left() -> None:
    cluster = SmallCluster(1, 2)
    code(cluster, 1, epoch=0)
    cluster.start(1)
    answer = cluster[1].handle(stop_request(1, epoch=-1, delete=True))
    assert answer.errors == {TP: ErrorCode.NONE}
    assert cluster.disks[BrokerId(1)].held() == {}


def test_metadata_replaces_the_live_brokers() -> None:
    cluster = SmallCluster(1, 2)
    cluster[1].handle(cluster.metadata(BrokerId(1), live=(BrokerId(2),)))
    assert cluster[1].live == {2}
    assert cluster[1].controller == 1000


# ---- replication ----


def test_a_record_is_acked_when_every_in_sync_replica_has_it() -> None:
    cluster = SmallCluster(1, 2, 3)
    cluster.lead(1, epoch=0)
    acked = cluster.produce(1, 77)
    assert acked == []
    cluster.run()
    assert acked == [0]
    assert [cluster.identities(b) for b in (1, 2, 3)] == [[77]] * 3


def test_a_record_waits_for_a_member_that_is_gone_until_the_isr_shrinks() -> None:
    cluster = SmallCluster(1, 2)
    cluster.lead(1, epoch=0)
    cluster.run()
    cluster[2].halt()
    acked = cluster.produce(1, 77)
    cluster.run(9_000)
    cluster[1].tick()
    cluster.run()
    assert acked == []
    cluster.run(2_000)
    cluster[1].tick()
    cluster.run()
    assert [change.isr for change in cluster.changes] == [(1,)]
    assert acked == [0]


def test_a_follower_that_has_waited_for_a_record_does_not_lag_when_it_comes() -> None:
    cluster = SmallCluster(1, 2)
    cluster.lead(1, epoch=0)
    cluster.run(60_000)
    cluster.produce(1, 77)
    cluster[1].tick()
    assert cluster.changes == []


def test_while_a_change_is_undecided_everybody_of_either_isr_must_have_a_record() -> None:
    cluster = SmallCluster(1, 2, 3)
    cluster.decide = lambda _: None
    cluster.lead(1, epoch=0, isr=(1, 2))
    cluster.run()
    assert cluster.changes[0].isr in ((1, 2, 3),)
    cluster[3].halt()
    acked = cluster.produce(1, 77)
    cluster.run(300)
    assert cluster.identities(2) == [77]
    assert acked == []


def test_a_change_whose_answer_was_lost_is_asked_for_again_unchanged() -> None:
    cluster = SmallCluster(1, 2)
    cluster.decide = lambda _: None
    cluster.lead(1, epoch=0, isr=(1,))
    cluster.run(2_000)
    assert len(cluster.changes) > 2
    assert len(set(cluster.changes)) == 1


def test_a_refused_member_leaves_the_isr_as_it_was() -> None:
    cluster = SmallCluster(1, 2)
    cluster.decide = lambda _: IsrDecision(ErrorCode.INELIGIBLE_REPLICA)
    cluster.lead(1, epoch=0, isr=(1,))
    cluster.run()
    acked = cluster.produce(1, 5)
    assert acked == [0]


def test_too_few_in_sync_replicas_take_no_records() -> None:
    cluster = SmallCluster(1, 2)
    cluster.min_isr = 2
    cluster.lead(1, epoch=0, isr=(1,), to=(1,))
    assert cluster.produce(1, 5) == [None]
    assert cluster.identities(1) == []


def test_a_follower_with_records_of_a_lost_leadership_drops_them() -> None:
    cluster = SmallCluster(1, 2, 3)
    cluster.lead(1, epoch=0)
    cluster.produce(1, 10)
    cluster.run()
    # 1 is cut off and takes a record that nobody else gets
    unheard = cluster.produce(1, 11)
    cluster[2].hosted[TP].stop()
    cluster[3].hosted[TP].stop()
    cluster.lead(2, epoch=1, isr=(2, 3), to=(2, 3))
    cluster.produce(2, 12)
    cluster.run()
    cluster.lead(2, epoch=2, isr=(2, 3))
    cluster.run()
    assert unheard == [None]
    assert [cluster.identities(b) for b in (1, 2, 3)] == [[10, 12]] * 3


def test_a_new_leader_does_not_take_in_a_follower_below_where_it_began() -> None:
    cluster = SmallCluster(1, 2)
    cluster.lead(1, epoch=0)
    cluster.produce(1, 10)
    cluster.run()
    log = cluster.disks[BrokerId(2)].find(TP)
    assert log is not None
    # after a restart both know a watermark of 0 and one follower has an empty log
    cluster.start(1)
    cluster.start(2)
    log.truncate(0)
    cluster.lead(1, epoch=1, isr=(1,), to=(1,))
    leading = cluster[1].hosted[TP].leader_state
    assert leading is not None
    leading.log.high_watermark = 0
    leading.fetched(BrokerId(2), 0, 0)
    assert not leading.may_join(BrokerId(2))
    leading.fetched(BrokerId(2), 1, 0)
    assert leading.may_join(BrokerId(2))


def leader_with_an_uncommitted_record() -> tuple[SmallCluster, list[int | None]]:
    """Broker 1 leads in epoch 0; broker 2 has fetched its record, broker 3 has not."""
    cluster = SmallCluster(1, 2, 3)
    cluster.lead(1, epoch=0, to=(1, 2))
    cluster.run()
    waiting = cluster.produce(1, 10)
    cluster.run()
    assert (cluster.identities(2), waiting) == ([10], [])
    return cluster, waiting


def test_a_leader_that_missed_an_epoch_waits_until_its_followers_have_fetched_again() -> None:
    cluster, waiting = leader_with_an_uncommitted_record()
    cluster.lead(3, epoch=1, to=(2, 3))
    cluster.run()
    assert cluster.identities(2) == []
    cluster.lead(1, epoch=2, isr=(1, 2), to=(1,))
    assert waiting == []
    cluster.lead(1, epoch=2, isr=(1, 2), to=(2,))
    cluster.run()
    assert (cluster.identities(2), waiting) == ([10], [0])


def test_in_the_next_epoch_a_leader_still_knows_how_far_its_followers_are() -> None:
    cluster, waiting = leader_with_an_uncommitted_record()
    cluster.lead(1, epoch=1, isr=(1, 2), to=(1,))
    assert waiting == [0]


def test_logs_survive_a_restart_and_the_watermark_is_the_one_on_disk() -> None:
    cluster = SmallCluster(1, 2)
    cluster.lead(1, epoch=0)
    cluster.produce(1, 10)
    cluster.run()
    cluster[1].tick()
    cluster.produce(1, 11)
    cluster.run()
    cluster.start(1)
    log = cluster.disks[BrokerId(1)].find(TP)
    assert log is not None
    assert (cluster.identities(1), log.high_watermark) == ([10, 11], 1)


# ---- directories ----


def test_a_failed_directory_takes_its_replicas_offline_until_a_restart() -> None:
    cluster = SmallCluster(1, 2)
    cluster.lead(1, epoch=0)
    waiting = cluster.produce(1, 10)
    name = cluster.disks[BrokerId(1)].directory_of(TP)
    assert name is not None
    cluster[1].fail_directory(name)
    assert waiting == [None]
    assert cluster.announced == [1]
    assert code(cluster, 1, epoch=1) is ErrorCode.KAFKA_STORAGE_ERROR
    stop = cluster[1].handle(stop_request(1, epoch=9, delete=True))
    assert stop.errors == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    cluster.disks[BrokerId(1)].failed.clear()
    cluster.start(1)
    assert code(cluster, 1, epoch=1) is ErrorCode.NONE
    assert cluster.identities(1) == [10]


def test_with_a_failed_directory_only_a_new_replica_gets_a_log() -> None:
    cluster = SmallCluster(1, 2)
    cluster[1].fail_directory("d0")
    assert code(cluster, 1, epoch=0) is ErrorCode.KAFKA_STORAGE_ERROR
    assert code(cluster, 1, epoch=0, is_new=True) is ErrorCode.NONE
    assert cluster.disks[BrokerId(1)].directory_of(TP) == "d1"
