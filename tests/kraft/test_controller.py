"""A controller alone and three of them: terms, answers on commit, restarts, snapshots."""

from __future__ import annotations

from kedge.kraft import Ask
from kedge.metadata import ApiError, replay_all, snapshot
from kedge.metadata.elections import ElectLeaders
from kedge.metadata.heartbeats import Heartbeat
from kedge.metadata.image import EMPTY
from kedge.metadata.topics import CreateTopics, NewTopicRequest
from kedge.model.error_codes import ErrorCode
from tests.kraft.nodes import Quorum


def create(*names: str, partitions: int = 2, factor: int = 1) -> CreateTopics:
    return CreateTopics(tuple(NewTopicRequest(name, partitions, factor) for name in names))


def test_the_only_voter_is_active_at_once_and_writes_the_bootstrap_records() -> None:
    quorum = Quorum(1)
    assert quorum.active().node.role.epoch == 1
    quorum.run(100)
    assert quorum.active().stable.features["metadata.version"] == 27
    assert quorum.active().stable.controllers[3001].incarnation_id == "life:3001"


def test_a_reply_comes_only_with_the_commit() -> None:
    quorum = Quorum(3)
    quorum.add_broker(1)
    leader = quorum.active()
    standbys = [node for node in quorum.ids if node != leader.config.quorum.node_id]
    for node in standbys:
        quorum.kill(node)
    token = quorum.send(create("orders"))
    quorum.run(200)
    assert token not in quorum.replies
    assert leader.stable.topic_named("orders") is None
    for node in standbys:
        quorum.start(node)
    quorum.run(1_000)
    assert quorum.replies[token][0].error.code is ErrorCode.NONE
    assert leader.stable.topic_named("orders") is not None


def test_an_answer_without_records_waits_for_what_was_appended_before_it() -> None:
    quorum = Quorum(1)
    quorum.add_broker(1)
    created = quorum.send(create("orders"))
    elected = quorum.send(ElectLeaders(0, (("orders", 0),)))
    assert created not in quorum.replies
    assert elected not in quorum.replies
    quorum.run(30)
    assert quorum.replies[elected][0][2].code is ErrorCode.ELECTION_NOT_NEEDED


def test_losing_the_lead_takes_back_what_is_not_committed_and_fails_who_waits() -> None:
    quorum = Quorum(3)
    quorum.add_broker(1)
    old = quorum.active()
    old_id = old.config.quorum.node_id
    quorum.cut_off = {old_id}
    token = quorum.send(create("lost"))
    quorum.run(8_000)
    answer = quorum.replies[token]
    assert isinstance(answer, ApiError)
    assert answer.code is ErrorCode.NOT_CONTROLLER
    quorum.cut_off = set()
    new = quorum.active()
    assert new is not old
    quorum.run(5_000)
    assert [c.stable.topic_named("lost") for c in quorum.running.values()] == [None] * 3


def test_a_standby_refuses_with_the_id_of_the_active_controller() -> None:
    quorum = Quorum(3)
    leader = quorum.active().config.quorum.node_id
    quorum.run(100)
    standby = next(node for node in quorum.ids if node != leader)
    quorum.handle(standby, Ask(99_999, create("orders")))
    assert quorum.replies[99_999].message == f"The active controller appears to be node {leader}."


def test_brokers_get_a_session_of_grace_from_a_new_controller_and_are_fenced_after_it() -> None:
    quorum = Quorum(3)
    epoch = quorum.add_broker(1)
    quorum.kill(quorum.active().config.quorum.node_id)
    leader = quorum.active()
    quorum.run(8_000)
    assert not leader.stable.brokers[1].fenced
    assert not quorum.ask(Heartbeat(1, epoch, 10**9)).is_fenced
    quorum.run(8_000)
    assert not leader.stable.brokers[1].fenced
    quorum.run(4_000)
    assert leader.stable.brokers[1].fenced


def test_a_restarted_node_has_the_image_of_its_log() -> None:
    quorum = Quorum(1)
    quorum.add_broker(1)
    quorum.ask(create("orders", "payments", partitions=5))
    before = snapshot(quorum.active().stable)
    quorum.kill(3001)
    quorum.start(3001)
    assert snapshot(quorum.active().stable) == before
    assert quorum.active().node.role.epoch == 2


def test_all_nodes_have_the_image_that_the_log_makes() -> None:
    quorum = Quorum(3)
    quorum.add_broker(1)
    quorum.add_broker(2)
    quorum.ask(create("orders", partitions=50, factor=2))
    quorum.run(2_000)
    quorum.kill(quorum.active().config.quorum.node_id)
    quorum.ask(create("payments", partitions=50, factor=2))
    quorum.start(next(node for node in quorum.ids if node not in quorum.running))
    quorum.run(3_000)
    shown = {snapshot(node.stable) for node in quorum.running.values()}
    assert len(shown) == 1
    log = quorum.active().node.log
    records = [
        versioned
        for batch in log.batches
        for versioned in batch.records
        if batch.last < log.high_watermark
    ]
    assert snapshot(replay_all(EMPTY, (v.record for v in records))) in shown  # type: ignore[attr-defined]


def test_snapshots_are_due_after_so_many_bytes_and_cut_the_log() -> None:
    quorum = Quorum(1, snapshot_after_bytes=5_000, retention_bytes=0)
    quorum.add_broker(1)
    quorum.ask(create("orders", partitions=200))
    quorum.run(500)
    assert quorum.active().node.log.start > 0
    quorum.kill(3001)
    quorum.start(3001)
    assert quorum.active().stable.topic_named("orders") is not None


def test_a_leader_that_shuts_down_hands_over() -> None:
    quorum = Quorum(3)
    quorum.add_broker(1)
    first = quorum.active().config.quorum.node_id
    quorum.stop(first)
    before = quorum.now
    assert quorum.active().config.quorum.node_id != first
    assert quorum.now - before <= 1_000
