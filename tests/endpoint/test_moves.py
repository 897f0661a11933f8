"""Moves, elections and log directories."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kedge.endpoint import LogDirState, ReplicaInDir
from kedge.errors import BrokerFailed
from kedge.model import BrokerId, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.protocol.messages import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from tests.endpoint.client import Client
from tests.endpoint.endpoint_cluster import EndpointCluster, endpoint_cluster
from tests.endpoint.requests import Codes, Moves, create, elect, listed, metadata_of, reassign

NONE = ErrorCode.NONE


def replicas_seen(cluster: EndpointCluster, topic: str) -> tuple[BrokerId, ...] | None:
    entry = cluster.images.cache(cluster.controller).entry(TopicPartition(topic, 0))
    return None if entry is None else entry.replicas


# ---- reassignment --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 1])
def test_a_move_is_listed_until_the_new_replicas_are_in_sync(version: int) -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1, 2]])
        started = reassign(client, {("t", 0): [3, 2]}, version=version)
        assert started == (0, {("t", 0): 0})
        expected = {("t", 0): ([3, 2, 1], [3], [1])}
        assert listed(client) == expected
        assert listed(client, ("t", 0), ("x", 0)) == expected
        assert listed(client, ("x", 0)) == {}
        cluster.catch_up("t", 0, [1, 2, 3])
        cluster.until(lambda: replicas_seen(cluster, "t") == (3, 2))
        assert listed(client) == {}


def test_a_move_is_cancelled_by_null() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1, 2]])
        reassign(client, {("t", 0): [3, 2]})
        assert reassign(client, {("t", 0): None}) == (0, {("t", 0): 0})
        assert listed(client) == {}
        again = reassign(client, {("t", 0): None})
        assert again == (0, {("t", 0): ErrorCode.NO_REASSIGNMENT_IN_PROGRESS})


@pytest.mark.parametrize("target", [[], [1, 1], [-1], [9]])
def test_an_impossible_target_is_refused_and_spares_the_others(target: list[int]) -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1, 2]])
        create(client, "u", [[1, 2]])
        moves: Moves = {("t", 0): target, ("u", 0): [2, 3], ("x", 0): [1]}
        assert reassign(client, moves) == (
            0,
            {
                ("t", 0): ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                ("u", 0): 0,
                ("x", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            },
        )
        assert list(listed(client)) == [("u", 0)]


def test_the_number_of_replicas_stays_where_the_client_says_so() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        for topic in ("t", "u"):
            create(client, topic, [[1, 2]])
        moves: Moves = {("t", 0): [1, 2, 3], ("u", 0): [1, 3]}
        assert reassign(client, moves, may_change_count=False) == (
            0,
            {("t", 0): ErrorCode.INVALID_REPLICATION_FACTOR, ("u", 0): 0},
        )
        # u is three replicas wide while it moves, and counts as two
        assert reassign(client, {("u", 0): [2, 3]}, may_change_count=False)[1] == {("u", 0): 0}


def test_only_the_controller_moves_and_lists() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[BrokerId(2)]) as client:
        assert reassign(client, {("t", 0): [1]}) == (ErrorCode.NOT_CONTROLLER, {})
        request = ListPartitionReassignmentsRequest(topics=None, timeout_ms=1000)
        answer = client.ask(request, ListPartitionReassignmentsResponse)
        assert answer.error_code == ErrorCode.NOT_CONTROLLER


def test_requests_to_the_controller_are_answered_when_they_give_no_time() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1, 2]])
        assert listed(client, timeout_ms=0) == {}
        assert reassign(client, {("t", 0): [2, 1]}, timeout_ms=0) == (0, {("t", 0): 0})
        late, unneeded = ErrorCode.REQUEST_TIMED_OUT, ErrorCode.ELECTION_NOT_NEEDED
        assert elect(client, ("t", 0), timeout_ms=0) == (0, {("t", 0): late})
        cluster.until(lambda: metadata_of(client, "t").topics[0].partitions[0].leader_id == 2)
        assert elect(client, ("t", 0), timeout_ms=0) == (0, {("t", 0): unneeded})


# ---- elections -----------------------------------------------------------------------------------


def lose_leadership(cluster: EndpointCluster, client: Client) -> None:
    """t-0 is led by 2 although 3 is preferred and in sync; u-0 by its preferred replica."""
    create(client, "t", [[3, 2]])
    create(client, "u", [[2, 1]])
    cluster.stop(3)
    tp = TopicPartition("t", 0)
    cluster.until(lambda: cluster.loop.context.leaderships[tp].leader == 2)
    cluster.start(3)
    cluster.until(lambda: 3 in cluster.loop.context.live)
    cluster.catch_up("t", 0, [2, 3])


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_preferred_leader_leads_when_the_answer_comes(version: int) -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        lose_leadership(cluster, client)
        outcome = elect(client, ("t", 0), ("u", 0), ("x", 0), version=version)
        assert outcome == (
            0,
            {
                ("t", 0): 0,
                ("u", 0): ErrorCode.ELECTION_NOT_NEEDED,
                ("x", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            },
        )
        entry = cluster.images.cache(cluster.controller).entry(TopicPartition("t", 0))
        assert entry is not None
        assert entry.leadership.leader == 3


def test_of_all_partitions_only_those_that_changed_are_named() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        lose_leadership(cluster, client)
        assert elect(client) == (0, {("t", 0): 0})
        assert elect(client) == (0, {})


def test_an_unclean_leader_is_elected_only_on_demand() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[2, 3]])
        cluster.catch_up("t", 0, [2])
        cluster.stop(2)
        tp = TopicPartition("t", 0)
        cluster.until(lambda: cluster.loop.context.leaderships[tp].leader == -1)
        refused = elect(client, ("t", 0))
        assert refused == (0, {("t", 0): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE})
        assert elect(client, ("t", 0), kind=1) == (0, {("t", 0): 0})
        entry = cluster.images.cache(cluster.controller).entry(tp)
        assert entry is not None
        assert entry.leadership.leader == 3


def test_an_election_of_no_known_kind_is_refused() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        assert elect(client, kind=7) == (ErrorCode.INVALID_REQUEST, {})


def test_only_the_controller_elects() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[BrokerId(3)]) as client:
        assert elect(client, ("t", 0)) == (0, {("t", 0): ErrorCode.NOT_CONTROLLER})


# ---- log directories -----------------------------------------------------------------------------


def log_dirs(
    client: Client, *topics: str, version: int | None = None
) -> dict[str, list[tuple[str, int]]]:
    topic = DescribeLogDirsRequest.DescribableLogDirTopic
    asked = [topic(topic=name, partitions=[0]) for name in topics] or None
    answer = client.ask(DescribeLogDirsRequest(topics=asked), DescribeLogDirsResponse, version)
    assert [result.error_code for result in answer.results] == [0, 0]
    return {
        result.log_dir: [(t.name, p.partition_index) for t in result.topics for p in t.partitions]
        for result in answer.results
    }


def move(client: Client, path: str, *partitions: tuple[str, int]) -> Codes:
    directory = AlterReplicaLogDirsRequest.AlterReplicaLogDir
    topics = [
        directory.AlterReplicaLogDirTopic(name=name, partitions=[number])
        for name, number in partitions
    ]
    request = AlterReplicaLogDirsRequest(dirs=[directory(path=path, topics=topics)])
    answer = client.ask(request, AlterReplicaLogDirsResponse)
    return {
        (t.topic_name, p.partition_index): p.error_code
        for t in answer.results
        for p in t.partitions
    }


@pytest.mark.parametrize("version", range(1, 6))
def test_a_broker_describes_its_own_directories(version: int) -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1, 2], [2, 1], [3, 2]])
        every = log_dirs(client, version=version)
        assert sorted(found for held in every.values() for found in held) == [("t", 0), ("t", 1)]
        chosen = log_dirs(client, "t", version=version)
        assert sorted(found for held in chosen.values() for found in held) == [("t", 0)]


def test_a_replica_moves_to_the_requested_directory() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1]])
        for path in ("/data/d1", "/data/d0"):
            assert move(client, path, ("t", 0)) == {("t", 0): 0}
            assert log_dirs(client)[path] == [("t", 0)]
        assert move(client, "/nowhere", ("t", 0)) == {("t", 0): ErrorCode.LOG_DIR_NOT_FOUND}


def test_a_replica_that_arrives_later_is_put_into_the_requested_directory() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[2]])
        assert move(client, "/data/d1", ("t", 0)) == {("t", 0): ErrorCode.REPLICA_NOT_AVAILABLE}
        reassign(client, {("t", 0): [1]})
        cluster.until(lambda: replicas_seen(cluster, "t") == (1, 2))
        assert log_dirs(client)["/data/d1"] == [("t", 0)]


class Broken:
    """Directories that cannot be looked at."""

    def describe(self, broker: BrokerId) -> Sequence[LogDirState]:
        raise BrokerFailed(f"broker {broker} does not answer")

    def move(self, broker: BrokerId, tp: TopicPartition, path: str) -> None:
        raise BrokerFailed(f"broker {broker} does not answer")


class OneFailed:
    """A directory that has failed beside one that is full."""

    def describe(self, broker: BrokerId) -> Sequence[LogDirState]:
        full = LogDirState("/b", (ReplicaInDir(TopicPartition("t", 0), 7, 3, True),), NONE, 100, 0)
        return [LogDirState("/a", error=ErrorCode.KAFKA_STORAGE_ERROR), full]

    def move(self, broker: BrokerId, tp: TopicPartition, path: str) -> None:
        pass


def test_directories_that_cannot_be_looked_at_are_refused() -> None:
    with (
        endpoint_cluster(brokers=1, log_dirs=Broken()) as cluster,
        Client(cluster.ports[BrokerId(1)]) as client,
    ):
        answer = client.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse)
        assert (answer.error_code, answer.results) == (ErrorCode.UNKNOWN_SERVER_ERROR, [])
        assert move(client, "/a", ("t", 0)) == {("t", 0): ErrorCode.UNKNOWN_SERVER_ERROR}


def test_a_failed_directory_is_reported_beside_the_others() -> None:
    with (
        endpoint_cluster(brokers=1, log_dirs=OneFailed()) as cluster,
        Client(cluster.ports[BrokerId(1)]) as client,
    ):
        answer = client.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse)
        failed, full = answer.results
        assert (failed.log_dir, failed.error_code) == ("/a", ErrorCode.KAFKA_STORAGE_ERROR)
        assert (full.total_bytes, full.usable_bytes) == (100, 0)
        (replica,) = full.topics[0].partitions
        assert (replica.partition_size, replica.offset_lag, replica.is_future_key) == (7, 3, True)
