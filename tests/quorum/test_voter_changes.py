"""Voters come and go (KIP-853): one change at a time, each committed before it is answered."""

from __future__ import annotations

from kedge.model.error_codes import ErrorCode
from kedge.quorum.messages import (
    AddVoterRequest,
    AddVoterResponse,
    RemoveVoterRequest,
    RemoveVoterResponse,
    UpdateVoterRequest,
    UpdateVoterResponse,
)
from kedge.quorum.node import Append, Refusal, UpgradeKRaftVersion
from kedge.quorum.roles import Follower, Leader
from kedge.quorum.values import KRaftVersionChange, LeaderChange, ReplicaKey, VotersChange
from tests.quorum.nodes import (
    Quorum,
    config,
    directory,
    dynamic_voters,
    elected,
    endpoints,
    static_voters,
)


def _key(node: int) -> ReplicaKey:
    return ReplicaKey(node, directory(node))


def _four() -> Quorum:
    """Voters 1 to 3, and node 4 that observes."""
    return elected(dynamic_voters([1, 2, 3]), 4, kraft_version=1)


def test_the_first_leader_writes_the_voters_of_the_checkpoint_into_the_log() -> None:
    quorum = _four()
    log = quorum.nodes[quorum.leader()].log
    kinds = [type(record) for record in log.batches[0].control]
    assert kinds == [LeaderChange, KRaftVersionChange, VotersChange]


def test_a_caught_up_observer_becomes_a_voter() -> None:
    quorum = _four()
    leader = quorum.leader()
    assert quorum.ask(leader, AddVoterRequest(_key(4), endpoints(4))) is None
    quorum.advance(1000)
    assert quorum.later_answer() == AddVoterResponse(message="NONE")
    assert all(node.voters.ids == (1, 2, 3, 4) for node in quorum.nodes.values())
    assert quorum.nodes[4].voters.is_voter(config(4, []).key)
    role = quorum.nodes[leader].role
    assert isinstance(role, Leader)
    assert set(role.voters) == {1, 2, 3, 4}


def test_a_new_voter_is_asked_for_its_versions_where_the_request_says_that_it_listens() -> None:
    quorum = _four()
    leader = quorum.leader()
    quorum.ask(leader, AddVoterRequest(_key(4), endpoints(4)))
    (asked,) = quorum.last[leader].sends
    assert (asked.peer, asked.endpoint) == (4, endpoints(4)[0])


def test_adding_is_refused_with_kafkas_codes() -> None:
    quorum = _four()
    leader = quorum.leader()
    follower = 1 if leader != 1 else 2
    new = AddVoterRequest(_key(4), endpoints(4))
    refusals = {
        ErrorCode.INCONSISTENT_CLUSTER_ID: (leader, new._replace(cluster_id="other")),
        ErrorCode.NOT_LEADER_OR_FOLLOWER: (follower, new),
        ErrorCode.INVALID_REQUEST: (leader, new._replace(voter=ReplicaKey(4))),
        ErrorCode.DUPLICATE_VOTER: (leader, new._replace(voter=ReplicaKey(2, "dir:other"))),
    }
    for code, (node, request) in refusals.items():
        answer = quorum.ask(node, request)
        assert isinstance(answer, AddVoterResponse)
        assert answer.error is code
    answer = quorum.ask(leader, new._replace(endpoints=()))
    assert isinstance(answer, AddVoterResponse)
    assert answer.error is ErrorCode.INVALID_REQUEST


def test_a_node_that_does_not_support_the_version_is_not_added() -> None:
    quorum = _four()
    quorum.kraft_versions = (0, 0)
    quorum.ask(quorum.leader(), AddVoterRequest(_key(4), endpoints(4)))
    quorum.advance(100)
    answer = quorum.later_answer()
    assert isinstance(answer, AddVoterResponse)
    assert answer.error is ErrorCode.INVALID_REQUEST


def test_a_node_that_has_never_fetched_is_not_added() -> None:
    quorum = elected(dynamic_voters([1, 2, 3]), kraft_version=1)
    quorum.start(5, dynamic_voters([1, 2, 3]), kraft_version=1)
    key = ReplicaKey(5, "dir:new")  # its log is another one than that which fetches
    quorum.ask(quorum.leader(), AddVoterRequest(key, endpoints(5)))
    quorum.advance(100)
    answer = quorum.later_answer()
    assert isinstance(answer, AddVoterResponse)
    assert answer.error is ErrorCode.REQUEST_TIMED_OUT


def test_one_change_at_a_time() -> None:
    quorum = _four()
    leader = quorum.leader()
    others = {1, 2, 3} - {leader}
    quorum.cut |= others
    assert quorum.ask(leader, AddVoterRequest(_key(4), endpoints(4))) is None
    answer = quorum.ask(leader, RemoveVoterRequest(_key(min(others))))
    assert isinstance(answer, RemoveVoterResponse)
    assert answer.error is ErrorCode.REQUEST_TIMED_OUT


def test_a_follower_is_removed_and_stops_to_count() -> None:
    quorum = _four()
    leader = quorum.leader()
    out = 1 if leader != 1 else 2
    quorum.ask(leader, RemoveVoterRequest(_key(out)))
    quorum.advance(1000)
    assert quorum.nodes[leader].voters.ids == tuple(sorted({1, 2, 3} - {out}))
    answer = quorum.ask(leader, RemoveVoterRequest(_key(out)))
    assert isinstance(answer, RemoveVoterResponse)
    assert answer.error is ErrorCode.VOTER_NOT_FOUND


def test_a_leader_that_is_removed_resigns_once_that_is_committed() -> None:
    quorum = _four()
    leader = quorum.leader()
    quorum.ask(leader, RemoveVoterRequest(_key(leader)))
    quorum.advance(6000)
    assert quorum.leader() != leader
    assert leader not in quorum.nodes[quorum.leader()].voters
    assert isinstance(quorum.nodes[leader].role, Follower)


def test_an_uncommitted_change_goes_with_the_truncation_of_its_record() -> None:
    quorum = _four()
    old = quorum.leader()
    others = sorted({1, 2, 3} - {old})
    quorum.cut |= {old, 4}
    quorum.ask(old, RemoveVoterRequest(_key(others[0])))
    assert quorum.nodes[old].voters.ids == tuple(sorted({old, others[1]}))
    quorum.advance(6000)
    quorum.cut.clear()
    quorum.advance(3000)
    assert all(node.voters.ids == (1, 2, 3) for node in quorum.nodes.values())


def test_static_voters_are_neither_added_nor_removed() -> None:
    quorum = elected(static_voters([1, 2, 3]))
    leader = quorum.leader()
    answer = quorum.ask(leader, AddVoterRequest(_key(4), endpoints(4)))
    assert isinstance(answer, AddVoterResponse)
    assert answer.error is ErrorCode.UNSUPPORTED_VERSION
    removal = quorum.ask(leader, RemoveVoterRequest(_key(2)))
    assert isinstance(removal, RemoveVoterResponse)
    assert removal.error is ErrorCode.UNSUPPORTED_VERSION


def test_an_upgrade_writes_what_voters_told_of_themselves() -> None:
    quorum = elected(static_voters([1, 2, 3]))
    leader = quorum.leader()
    epoch = quorum.nodes[leader].role.epoch
    role = quorum.nodes[leader].role
    assert isinstance(role, Leader)
    assert role.known_voters is not None
    assert all(voter.key.directory for voter in role.known_voters.all)  # told after 2 s
    assert quorum.step(leader, UpgradeKRaftVersion(epoch, 1)).outcome is None
    quorum.advance(500)
    for node in quorum.nodes.values():
        assert node.kraft_version == 1
        assert [voter.key for voter in node.voters.all] == [_key(1), _key(2), _key(3)]
    assert isinstance(quorum.step(leader, UpgradeKRaftVersion(epoch, 0)).outcome, Refusal)
    assert isinstance(quorum.step(leader, UpgradeKRaftVersion(epoch - 1, 1)).outcome, Refusal)
    quorum.step(leader, Append(epoch, ("x",)))
    quorum.advance(500)
    assert len({node.log.end for node in quorum.nodes.values()}) == 1


def test_a_voter_brings_its_entry_up_to_date() -> None:
    quorum = _four()
    leader = quorum.leader()
    epoch = quorum.nodes[leader].role.epoch
    other = 1 if leader != 1 else 2
    update = UpdateVoterRequest(_key(other), epoch, endpoints(70 + other))
    answer = quorum.ask(leader, update)
    assert isinstance(answer, UpdateVoterResponse)
    assert answer.error is ErrorCode.NONE
    assert quorum.nodes[leader].voters.endpoints(other) == endpoints(70 + other)
    stranger = quorum.ask(leader, update._replace(voter=ReplicaKey(8, "dir:8")))
    assert isinstance(stranger, UpdateVoterResponse)
    assert stranger.error in (ErrorCode.VOTER_NOT_FOUND, ErrorCode.REQUEST_TIMED_OUT)
    quorum.advance(3000)  # the voter sees the wrong endpoints and corrects them
    assert quorum.nodes[leader].voters.endpoints(other) == endpoints(other)
