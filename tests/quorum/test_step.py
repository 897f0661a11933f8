"""What a step does, beyond the vectors: writes first, nothing shared, faults, shutdown."""

from __future__ import annotations

from kedge.model.error_codes import ErrorCode
from kedge.quorum import next_deadline, start, step
from kedge.quorum.log import Log, SnapshotInfo
from kedge.quorum.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    VoteRequest,
    VoteResponse,
)
from kedge.quorum.node import (
    Append,
    AppendBatches,
    Appended,
    Committed,
    DeleteBefore,
    FaultKind,
    InstallSnapshot,
    LoadSnapshot,
    Refusal,
    Request,
    Resign,
    Response,
    Shutdown,
    SnapshotTaken,
    StoreElection,
    Tick,
    WriteSnapshotPart,
)
from kedge.quorum.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from kedge.quorum.values import Batch, Election, EpochOffset, QuorumConfig, ReplicaKey
from tests.quorum.nodes import LISTENER, config, elected, endpoints, static_voters

THREE = static_voters([1, 2, 3])
NOW = 1_000_000


def draw(bound: int) -> int:
    return 250 % bound


def test_a_vote_is_stored_in_the_step_that_grants_it() -> None:
    node, _ = start(config(1, [1, 2, 3]), Log(), Election(), THREE, now=NOW, draw=draw)
    vote = VoteRequest(ReplicaKey(2, "dir:2"), 1, EpochOffset(0, 0))
    node, ready = step(node, Request(7, vote, LISTENER), now=NOW, draw=draw)
    assert ready.writes[-1] == StoreElection(Election(1, None, ReplicaKey(2, "dir:2")))
    assert isinstance(ready.answers[0].message, VoteResponse)
    assert ready.answers[0].message.granted
    refused = VoteRequest(ReplicaKey(3, "dir:3"), 1, EpochOffset(0, 9))
    _, ready = step(node, Request(8, refused, LISTENER), now=NOW, draw=draw)
    assert not ready.writes
    assert isinstance(ready.answers[0].message, VoteResponse)
    assert not ready.answers[0].message.granted


def test_a_node_of_the_same_directory_and_id_gets_the_vote_again_and_another_does_not() -> None:
    stored = Election(3, None, ReplicaKey(2, "dir:2"))
    node, _ = start(config(1, [1, 2, 3]), Log(), stored, THREE, now=NOW, draw=draw)
    for directory, granted in (("dir:2", True), ("dir:new", False)):
        vote = VoteRequest(ReplicaKey(2, directory), 3, EpochOffset(0, 0))
        _, ready = step(node, Request(1, vote, LISTENER), now=NOW, draw=draw)
        assert isinstance(ready.answers[0].message, VoteResponse)
        assert ready.answers[0].message.granted is granted


def test_two_futures_of_one_node_do_not_meet() -> None:
    node, _ = start(config(1, [1]), Log(), Election(), static_voters([1]), now=NOW, draw=draw)
    left, _ = step(node, Append(1, ("a",)), now=NOW, draw=draw)
    right, _ = step(node, Append(1, ("b", "c")), now=NOW, draw=draw)
    again, _ = step(node, Append(1, ("a",)), now=NOW, draw=draw)
    assert node.log.end == 1
    assert left.log.batches[-1].records == ("a",)
    assert right.log.batches[-1].records == ("b", "c")
    assert again.log.batches == left.log.batches


def test_appends_within_the_linger_share_a_batch() -> None:
    lingering = QuorumConfig(1, "dir:1", "cluster", endpoints(1), LISTENER, (1,))
    node, _ = start(lingering, Log(), Election(), static_voters([1]), now=NOW, draw=draw)
    node, first = step(node, Append(1, ("a",), 10), now=NOW, draw=draw)
    node, second = step(node, Append(1, ("b",), 10), now=NOW + 10, draw=draw)
    assert (first.outcome, second.outcome) == (Appended(1), Appended(2))
    assert not first.writes
    assert next_deadline(node, NOW + 10) == NOW + 25
    node, ready = step(node, Tick(), now=NOW + 25, draw=draw)
    assert ready.writes == (AppendBatches((Batch(1, 1, ("a", "b"), size=20),)),)
    assert [n.batch.records for n in ready.notifications if isinstance(n, Committed)] == [
        ("a", "b")
    ]


def test_a_large_append_begins_a_batch_of_its_own() -> None:
    small = QuorumConfig(1, "dir:1", "cluster", endpoints(1), LISTENER, (1,), batch_max_bytes=15)
    node, _ = start(small, Log(), Election(), static_voters([1]), now=NOW, draw=draw)
    for value in "abc":
        node, _ = step(node, Append(1, (value,), 7), now=NOW, draw=draw)
    node, _ = step(node, Tick(), now=NOW + 25, draw=draw)
    assert [batch.records for batch in node.log.batches[1:]] == [("a", "b"), ("c",)]


def test_a_second_leader_in_an_epoch_is_a_fault_and_changes_nothing() -> None:
    node, _ = start(config(1, [1, 2, 3]), Log(), Election(4, 2), THREE, now=NOW, draw=draw)
    begin = BeginQuorumEpochRequest(3, 4, endpoints=endpoints(3))
    after, ready = step(node, Request(1, begin, LISTENER), now=NOW, draw=draw)
    assert ready.fault is not None
    assert ready.fault.kind is FaultKind.ILLEGAL_STATE
    assert not ready.writes
    assert after.role == node.role


def test_a_leader_that_shuts_down_hands_over_and_does_not_stand_again() -> None:
    quorum = elected(THREE)
    old = quorum.leader()
    quorum.step(old, Shutdown())
    assert isinstance(quorum.nodes[old].role, Resigned | Follower)
    quorum.advance(2500)
    assert quorum.leader() != old
    quorum.cut.add(quorum.leader())
    quorum.advance(500)
    assert isinstance(quorum.nodes[old].role, Follower)


def test_resigning_from_another_epoch_is_refused_or_too_late() -> None:
    quorum = elected(THREE)
    leader = quorum.leader()
    epoch = quorum.nodes[leader].role.epoch
    assert isinstance(quorum.step(leader, Resign(epoch + 1)).outcome, Refusal)
    assert quorum.step(leader, Resign(epoch - 1)).outcome is None
    assert quorum.leader() == leader
    other = 1 if leader != 1 else 2
    assert isinstance(quorum.step(other, Resign(epoch)).outcome, Refusal)
    quorum.step(leader, Resign(epoch))
    assert not isinstance(quorum.nodes[leader].role, Leader)


def test_a_cut_off_leader_resigns_and_the_others_elect_one() -> None:
    quorum = elected(THREE)
    old = quorum.leader()
    quorum.cut.add(old)
    quorum.advance(6000)
    assert isinstance(quorum.nodes[old].role, Resigned | Unattached | Prospective | Candidate)
    quorum.cut.clear()
    quorum.advance(3000)
    leader = quorum.leader()
    quorum.step(leader, Append(quorum.nodes[leader].role.epoch, ("x",)))
    quorum.advance(1000)
    ends = {node.log.end for node in quorum.nodes.values()}
    assert len(ends) == 1
    assert {node.role.high_watermark for node in quorum.nodes.values()} == ends


def test_a_leader_sends_a_replica_that_is_before_its_log_to_the_snapshot() -> None:
    quorum = elected(THREE)
    leader = quorum.leader()
    epoch = quorum.nodes[leader].role.epoch
    for value in range(5):
        quorum.step(leader, Append(epoch, (value,)))
    quorum.advance(100)
    snapshot = SnapshotInfo(EpochOffset(epoch, quorum.nodes[leader].log.end), 10)
    quorum.step(leader, SnapshotTaken(snapshot))
    quorum.step(leader, DeleteBefore(snapshot.id))
    assert quorum.nodes[leader].log.start == snapshot.id.offset
    answer = quorum.ask(leader, FetchRequest(ReplicaKey(9, "dir:9"), epoch, 2, epoch))
    assert isinstance(answer, FetchResponse)
    assert answer.snapshot == snapshot.id


def test_a_follower_loads_a_snapshot_part_by_part() -> None:
    three = config(1, [1, 2, 3])
    node, ready = start(three, Log(), Election(4, 2), THREE, now=NOW, draw=draw)
    snapshot = SnapshotInfo(EpochOffset(3, 20), 10)
    answer = FetchResponse(leader_id=2, epoch=4, snapshot=snapshot.id)
    event = Response(2, ready.sends[0].correlation, answer)
    node, ready = step(node, event, now=NOW, draw=draw)
    for position, data in ((0, b"12345"), (5, b"67890")):
        sent = ready.sends[0]
        assert isinstance(sent.message, FetchSnapshotRequest)
        assert (sent.message.snapshot, sent.message.position) == (snapshot.id, position)
        part = FetchSnapshotResponse(
            leader_id=2, epoch=4, snapshot=snapshot.id, size=10, position=position, data=data
        )
        node, ready = step(node, Response(2, sent.correlation, part), now=NOW, draw=draw)
        assert ready.writes[0] == WriteSnapshotPart(snapshot.id, position, data)
    assert ready.writes[1:] == (InstallSnapshot(snapshot),)
    assert ready.notifications == (LoadSnapshot(snapshot.id),)
    assert (node.log.start, node.log.end, node.log.last_epoch) == (20, 20, 3)
    assert isinstance(ready.sends[0].message, FetchRequest)


def test_snapshots_are_served_in_parts_and_refused_with_kafkas_codes() -> None:
    quorum = elected(THREE)
    leader = quorum.leader()
    epoch, end = quorum.nodes[leader].role.epoch, quorum.nodes[leader].log.end
    snapshot = SnapshotInfo(EpochOffset(epoch, end), 10)
    quorum.step(leader, SnapshotTaken(snapshot))
    fetch = FetchSnapshotRequest(ReplicaKey(9, "dir:9"), epoch, snapshot.id, 4, 3)
    answer = quorum.ask(leader, fetch)
    assert isinstance(answer, FetchSnapshotResponse)
    assert (answer.size, answer.position, answer.length) == (10, 4, 3)
    codes = {
        ErrorCode.POSITION_OUT_OF_RANGE: fetch._replace(position=10),
        ErrorCode.SNAPSHOT_NOT_FOUND: fetch._replace(snapshot=EpochOffset(epoch, 99)),
        ErrorCode.UNKNOWN_LEADER_EPOCH: fetch._replace(epoch=epoch + 1),
    }
    for code, request in codes.items():
        answer = quorum.ask(leader, request)
        assert isinstance(answer, FetchSnapshotResponse)
        assert answer.partition_error is code
