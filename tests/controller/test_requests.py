"""What a batch tells whom, and in which versions."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.requests import RequestBatch
from kedge.controller.settings import Ibp, Settings, request_versions
from kedge.errors import InvalidConfiguration
from kedge.model import BrokerId
from kedge.model.broker_requests import DELETED_LEADER, LeaderAndIsr, StopReplica, UpdateMetadata
from tests.controller.stage import Stage, brokers


def test_a_batch_goes_out_as_leader_and_isr_then_metadata_then_stop() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2])
    batch = RequestBatch(stage.context)
    batch.add_stop_replica(BrokerId(2), where, delete=False)
    batch.add_leader_and_isr(brokers(1), where, is_new=False)
    kinds = [(type(r), r.to) for r in batch.requests()]
    everyone = [(UpdateMetadata, b) for b in brokers(1, 2, 3)]
    assert kinds == [(LeaderAndIsr, 1), *everyone, (StopReplica, 2)]


def test_new_and_delete_stay_once_said() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2])
    batch = RequestBatch(stage.context)
    batch.add_leader_and_isr(brokers(1), where, is_new=True)
    batch.add_leader_and_isr(brokers(1), where, is_new=False)
    batch.add_stop_replica(BrokerId(2), where, delete=True)
    batch.add_stop_replica(BrokerId(2), where, delete=False)
    assert stage_entry(batch, LeaderAndIsr).is_new
    assert stage_entry(batch, StopReplica).delete


def test_brokers_that_are_not_registered_are_told_nothing() -> None:
    stage = Stage(registered=(1,))
    where = stage.add("t-0", [1, 2])
    batch = RequestBatch(stage.context)
    batch.add_leader_and_isr(brokers(2), where, is_new=False)
    batch.add_stop_replica(BrokerId(2), where, delete=True)
    assert [(type(r), r.to) for r in batch.requests()] == [(UpdateMetadata, 1)]


def test_a_topic_to_be_deleted_has_no_leader_and_no_epoch() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2], epoch=5)
    stage.context.queue_deletion(["t"])
    batch = RequestBatch(stage.context)
    batch.add_metadata_to_all([where])
    batch.add_stop_replica(BrokerId(1), where, delete=True)
    entry = stage_entry(batch, UpdateMetadata)
    assert (entry.leadership.leader, entry.leadership.leader_epoch) == (DELETED_LEADER, 0)
    assert stage_entry(batch, StopReplica).leader_epoch == -2


def test_old_versions_of_stop_replica_delete_all_or_nothing_and_know_no_epochs() -> None:
    stage = Stage(ibp=Ibp.parse("2.3"))
    kept, deleted = stage.add("t-0", [1]), stage.add("t-1", [1])
    batch = RequestBatch(stage.context)
    batch.add_stop_replica(BrokerId(1), kept, delete=False)
    batch.add_stop_replica(BrokerId(1), deleted, delete=True)
    requests = [r for r in batch.requests() if isinstance(r, StopReplica)]
    assert [[(str(p), tuple(e)) for p, e in r.partitions.items()] for r in requests] == [
        [("t-1", (-1, True))],
        [("t-0", (-1, False))],
    ]


def stage_entry(batch: RequestBatch, kind: type) -> Any:
    request = next(r for r in batch.requests() if isinstance(r, kind))
    return next(iter(request.partitions.values()))


@pytest.mark.parametrize(
    ("ibp", "versions"),
    [
        ("3.9", (7, 4, 8)),
        ("3.4-IV0", (7, 4, 8)),
        ("3.3", (6, 3, 7)),
        ("2.8", (5, 3, 7)),
        ("2.8-IV0", (4, 3, 6)),
        ("2.6", (4, 3, 6)),
        ("2.4", (4, 2, 6)),
        ("2.4-IV0", (3, 1, 5)),
        ("2.3", (2, 1, 5)),
        ("1.1", (1, 0, 4)),
        ("0.10.2", (0, 0, 3)),
        ("0.10.0-IV0", (0, 0, 1)),
        ("0.8.2", (0, 0, 0)),
    ],
)
def test_versions_follow_the_protocol(ibp: str, versions: tuple[int, int, int]) -> None:
    found = request_versions(Ibp.parse(ibp))
    assert (found.leader_and_isr, found.stop_replica, found.update_metadata) == versions


def test_what_the_protocol_brings() -> None:
    old, new = Settings(ibp=Ibp.parse("2.6")), Settings(ibp=Ibp.parse("2.7.1"))
    assert (old.uses_alter_partition, new.uses_alter_partition) == (False, True)
    assert (new.uses_topic_ids, Settings().uses_topic_ids) == (False, True)


def test_a_protocol_version_must_be_a_release() -> None:
    with pytest.raises(InvalidConfiguration, match=r"write it as 3\.9"):
        Ibp.parse("newest")


def test_a_new_controller_says_nothing_of_partitions_that_none_of_its_brokers_hold() -> None:
    stage = Stage(registered=(1, 2))
    held, lost = stage.add("t-0", [1, 9]), stage.add("t-1", [9])
    batch = RequestBatch(stage.context)
    batch.add_all_leader_and_isr([held, lost], brokers(1, 2))
    assert [(type(r), r.to, set(r.partitions)) for r in batch.requests()] == [
        (LeaderAndIsr, 1, {held}),
        (UpdateMetadata, 1, {held}),
        (UpdateMetadata, 2, {held}),
    ]
