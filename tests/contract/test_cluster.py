"""What every adapter of the cluster port does alike: the port's promises, one by one."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import TypeVar

import pytest

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import (
    BROKER_DEFAULTS,
    Cluster,
    ConfigChange,
    ConfigEntry,
    ConfigOp,
    ConfigResource,
    ConfigSource,
    Election,
    Replica,
    TopicCreation,
    TopicDescription,
    TopicExpansion,
    broker_resource,
    quota_entity,
    topic_resource,
)
from kedge.errors import (
    ElectionNotNeeded,
    InvalidConfiguration,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidTopic,
    KedgeError,
    LogDirNotFound,
    NoReassignmentInProgress,
    ReplicaNotAvailable,
    RequestTimedOut,
    TopicExists,
    UnknownBroker,
    UnknownTopicOrPartition,
    UnsupportedByCluster,
)
from kedge.model import BrokerId, TopicPartition
from kedge.store.zookeeper import ZooKeeperStore
from kedge.zookeeper_cluster import ZooKeeperCluster
from tests.real import clusters

T = TypeVar("T")
B1, B2, B3, B9 = map(BrokerId, (1, 2, 3, 9))
PATIENCE_S = 20.0
LEADER_RATE = "leader.replication.throttled.rate"


# What an adapter does not offer: its tests then check how the call is refused.
QUOTAS, LOG_DIRS, UNCLEAN, DEFAULTS = "quotas", "log directories", "unclean elections", "defaults"
CLUSTER_ID = "cluster id"
LACKS: dict[str, frozenset[str]] = {
    "lab": frozenset({QUOTAS}),  # it takes no data
    "lab's nodes": frozenset({QUOTAS, LOG_DIRS, UNCLEAN, DEFAULTS, CLUSTER_ID}),
    "3.9 nodes": frozenset({QUOTAS, LOG_DIRS, UNCLEAN, DEFAULTS}),
}


@pytest.fixture(
    params=[
        "memory",
        "lab",
        "lab's nodes",
        pytest.param("4.1 KRaft", marks=pytest.mark.real),
        pytest.param("3.9 ZooKeeper", marks=pytest.mark.real),
        pytest.param("3.9 nodes", marks=pytest.mark.real),
    ]
)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with closing(_opened(request.param, request)) as made:
        yield made


def _opened(kind: str, request: pytest.FixtureRequest) -> Cluster:
    match kind:
        case "memory":
            return MemoryCluster(3)
        case "lab":
            return KafkaAdmin(request.getfixturevalue("lab").bootstrap_servers)
        case "lab's nodes":
            return ZooKeeperCluster(request.getfixturevalue("lab").cluster.new_session())
        case "4.1 KRaft":
            return KafkaAdmin(clusters.kraft(request.config).bootstrap)
        case "3.9 ZooKeeper":
            return KafkaAdmin(clusters.zookeeper(request.config).bootstrap)
        case _:
            return ZooKeeperCluster(ZooKeeperStore(clusters.zookeeper(request.config).zookeeper))


@pytest.fixture
def lacks(request: pytest.FixtureRequest) -> frozenset[str]:
    return LACKS.get(request.node.callspec.params["cluster"], frozenset())


@pytest.fixture
def name(cluster: Cluster) -> Iterator[str]:
    """A name that no topic has; a topic that gets it is deleted afterwards."""
    chosen = f"contract-{uuid.uuid4().hex[:12]}"
    yield chosen
    # A topic that is deleted while it moves would leave its move in progress for the next test.
    eventually(
        lambda: {tp.topic for tp in cluster.reassignments()}, lambda moving: chosen not in moving
    )
    cluster.delete_topics([chosen])


def eventually(look: Callable[[], T], wanted: Callable[[T], bool]) -> T:
    """What a look sees once it is as wanted, for clusters settle; else the last thing seen."""
    deadline = time.monotonic() + PATIENCE_S
    while not wanted(seen := look()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return seen


def described(cluster: Cluster, name: str, partitions: int = 1) -> TopicDescription:
    """A topic, once it is there with so many partitions and all of them are led."""

    def ready(topic: TopicDescription | KedgeError) -> bool:
        return (
            isinstance(topic, TopicDescription)
            and len(topic.partitions) == partitions
            and all(p.leader is not None for p in topic.partitions)
        )

    topic = eventually(lambda: cluster.describe_topics([name])[name], ready)
    assert isinstance(topic, TopicDescription), topic
    return topic


def made(cluster: Cluster, name: str, *lists: tuple[BrokerId, ...]) -> TopicDescription:
    order = TopicCreation(name, assignment=dict(enumerate(lists)))
    with suppress(RequestTimedOut):  # it may have happened: by the port's rule the caller looks
        assert cluster.create_topics([order]) == {name: None}
    return described(cluster, name, len(lists))


def entry(cluster: Cluster, resource: ConfigResource, name: str) -> ConfigEntry | None:
    entries = cluster.describe_configs([resource])[resource]
    assert not isinstance(entries, KedgeError), entries
    return next((each for each in entries if each.name == name), None)


def having(value: str) -> Callable[[ConfigEntry | None], bool]:
    return lambda found: found is not None and found.value == value


def kinds(answers: dict[T, KedgeError | None]) -> dict[T, type[KedgeError] | None]:
    return {key: None if error is None else type(error) for key, error in answers.items()}


# ---- topics -------------------------------------------------------------------------------------


def test_every_broker_answers_a_probe_and_one_that_is_not_there_does_not(
    cluster: Cluster, lacks: frozenset[str]
) -> None:
    brokers, absent = sorted(cluster.describe().alive), BrokerId(77)
    answers = cluster.round_trips([*brokers, absent], 5000)
    if LOG_DIRS in lacks:  # adapters that reach no broker
        assert all(isinstance(each, UnsupportedByCluster) for each in answers.values())
        return
    assert all(0 <= seconds < 5 for b in brokers if isinstance(seconds := answers[b], float))
    assert all(isinstance(answers[broker], float) for broker in brokers)
    assert isinstance(answers[absent], UnknownBroker)


def test_brokers_are_described_with_their_racks(cluster: Cluster, lacks: frozenset[str]) -> None:
    found = cluster.describe()
    racks = {broker.id: broker.rack for broker in found.brokers}
    # a lab counts its racks from 0
    assert racks in ({1: "r1", 2: "r2", 3: "r3"}, {1: "r0", 2: "r1", 3: "r2"})
    assert found.controller in found.alive
    assert bool(found.cluster_id) is (CLUSTER_ID not in lacks)


def test_a_topic_is_described_as_it_was_created(cluster: Cluster, name: str) -> None:
    topic = made(cluster, name, (B1, B2), (B2, B3))
    assert topic.replicas() == {0: (B1, B2), 1: (B2, B3)}
    assert [p.leader for p in topic.partitions] == [B1, B2]
    assert [set(p.isr) for p in topic.partitions] == [{1, 2}, {2, 3}]
    assert topic.topic_id
    assert not topic.internal


def test_counts_are_placed_by_the_cluster(cluster: Cluster, name: str) -> None:
    assert cluster.create_topics([TopicCreation(name, 4, 2)]) == {name: None}
    replicas = described(cluster, name, 4).replicas()
    assert [len(set(ids)) for ids in replicas.values()] == [2, 2, 2, 2]


def test_a_topic_is_listed_once_it_is_there(cluster: Cluster, name: str) -> None:
    assert name not in cluster.topic_names()
    made(cluster, name, (B1,))
    assert eventually(cluster.topic_names, lambda names: name in names)[name] is False


def test_in_a_batch_refusals_stand_beside_successes(cluster: Cluster, name: str) -> None:
    made(cluster, name, (B1,))
    other = f"{name}-b"
    answers = cluster.create_topics(
        [
            TopicCreation(name),
            TopicCreation("no/name"),
            TopicCreation(f"{name}-c", 1, 9),
            TopicCreation(f"{name}-d", configs={"nonsense": "1"}),
            TopicCreation(other, 1, 1),
        ]
    )
    assert list(kinds(answers).values()) == [
        TopicExists,
        InvalidTopic,
        InvalidReplicationFactor,
        InvalidConfiguration,
        None,
    ]
    described(cluster, other)
    assert cluster.delete_topics([other]) == {other: None}


def test_validating_changes_nothing(cluster: Cluster, name: str) -> None:
    assert cluster.create_topics([TopicCreation(name, 1, 1)], validate_only=True) == {name: None}
    bad = cluster.create_topics([TopicCreation(name, 1, 9)], validate_only=True)
    assert kinds(bad) == {name: InvalidReplicationFactor}
    assert name not in cluster.topic_names()


def test_a_topic_grows_and_never_shrinks(cluster: Cluster, name: str) -> None:
    made(cluster, name, (B1, B2))
    assert kinds(cluster.expand_topics([TopicExpansion(name, 1)])) == {name: InvalidPartitions}
    assert cluster.expand_topics([TopicExpansion(name, 3, [(B3, B1), (B2, B3)])]) == {name: None}
    replicas = described(cluster, name, 3).replicas()
    assert replicas == {0: (B1, B2), 1: (B3, B1), 2: (B2, B3)}
    assert cluster.expand_topics([TopicExpansion(name, 4)], validate_only=True) == {name: None}
    assert len(described(cluster, name, 3).partitions) == 3


def test_lists_must_be_as_many_as_new_partitions(cluster: Cluster, name: str) -> None:
    made(cluster, name, (B1, B2))
    answers = cluster.expand_topics([TopicExpansion(name, 3, [(B3, B1)])])
    assert kinds(answers) == {name: InvalidReplicaAssignment}


def test_what_is_not_there_is_refused_everywhere(cluster: Cluster, name: str) -> None:
    tp = TopicPartition(name, 0)
    unknown = UnknownTopicOrPartition
    assert isinstance(cluster.describe_topics([name])[name], unknown)
    assert kinds(cluster.expand_topics([TopicExpansion(name, 2)])) == {name: unknown}
    assert kinds(cluster.delete_topics([name])) == {name: unknown}
    resource = topic_resource(name)
    assert isinstance(cluster.describe_configs([resource])[resource], unknown)
    change = ConfigChange("retention.ms", value="1")
    assert kinds(cluster.alter_configs({resource: [change]})) == {resource: unknown}
    assert kinds(cluster.alter_reassignments({tp: (B1,)})) == {tp: unknown}
    assert kinds(cluster.elect_leaders(Election.PREFERRED, [tp])) == {tp: unknown}


def test_a_deleted_topic_is_gone(cluster: Cluster, name: str) -> None:
    made(cluster, name, (B1,))
    assert cluster.delete_topics([name]) == {name: None}
    assert name not in eventually(cluster.topic_names, lambda names: name not in names)


# ---- configs ------------------------------------------------------------------------------------


def test_a_config_is_set_and_deleted_and_the_rest_stays(
    cluster: Cluster, name: str, lacks: frozenset[str]
) -> None:
    made(cluster, name, (B1,))
    topic = topic_resource(name)
    steps = [ConfigChange("retention.ms", value="5000"), ConfigChange("segment.ms", value="7000")]
    assert cluster.alter_configs({topic: steps}) == {topic: None}
    found = eventually(lambda: entry(cluster, topic, "segment.ms"), having("7000"))
    assert found is not None
    assert found.source is ConfigSource.TOPIC
    delete = [ConfigChange("retention.ms", ConfigOp.DELETE)]
    assert cluster.alter_configs({topic: delete}) == {topic: None}
    kept = entry(cluster, topic, "segment.ms")
    assert kept is not None
    assert kept.value == "7000"
    if DEFAULTS in lacks:
        assert entry(cluster, topic, "retention.ms") is None
        return
    left = eventually(lambda: entry(cluster, topic, "retention.ms"), having("604800000"))
    assert left is not None
    assert left.source is ConfigSource.BUILT_IN


def test_lists_are_appended_to_and_subtracted_from(cluster: Cluster, name: str) -> None:
    made(cluster, name, (B1,))
    topic = topic_resource(name)
    for op, wanted in ((ConfigOp.APPEND, "delete,compact"), (ConfigOp.SUBTRACT, "delete")):
        change = ConfigChange("cleanup.policy", op, "compact")
        assert cluster.alter_configs({topic: [change]}) == {topic: None}
        seen = eventually(lambda: entry(cluster, topic, "cleanup.policy"), having(wanted))
        assert seen is not None
        assert seen.value == wanted


def test_a_refused_change_of_configs_changes_nothing(
    cluster: Cluster, name: str, lacks: frozenset[str]
) -> None:
    made(cluster, name, (B1,))
    topic = topic_resource(name)
    good = ConfigChange("segment.ms", value="7000")
    for bad in (ConfigChange("nonsense", value="1"), ConfigChange("retention.ms", value="soon")):
        answers = cluster.alter_configs({topic: [good, bad]})
        assert kinds(answers) == {topic: InvalidConfiguration}
    assert cluster.alter_configs({topic: [good]}, validate_only=True) == {topic: None}
    kept = entry(cluster, topic, "segment.ms")
    if DEFAULTS in lacks:
        assert kept is None
    else:
        assert kept is not None
        assert kept.source is ConfigSource.BUILT_IN


def test_a_broker_has_its_own_configs_above_those_of_all(
    cluster: Cluster, lacks: frozenset[str]
) -> None:
    one = broker_resource(B1)
    own, shared = ConfigChange(LEADER_RATE, value="1000"), ConfigChange(LEADER_RATE, value="2000")
    answers = cluster.alter_configs({one: [own], BROKER_DEFAULTS: [shared]})
    assert answers == {one: None, BROKER_DEFAULTS: None}

    def rates() -> list[tuple[str | None, str]]:
        places = (one, broker_resource(B2), BROKER_DEFAULTS)
        found = [entry(cluster, place, LEADER_RATE) for place in places]
        return [(each.value, each.source.name) for each in found if each is not None]

    wanted = [("1000", "BROKER"), ("2000", "ALL_BROKERS"), ("2000", "ALL_BROKERS")]
    if DEFAULTS in lacks:  # broker 2 has nothing of its own
        del wanted[1]
    assert eventually(rates, lambda seen: seen == wanted) == wanted
    delete = [ConfigChange(LEADER_RATE, ConfigOp.DELETE)]
    assert cluster.alter_configs({one: delete, BROKER_DEFAULTS: delete}) == answers
    assert eventually(rates, lambda seen: not seen) == []


def test_synonyms_list_the_values_of_every_level(
    cluster: Cluster, name: str, lacks: frozenset[str]
) -> None:
    made(cluster, name, (B1,))
    topic = topic_resource(name)
    cluster.alter_configs({topic: [ConfigChange("max.message.bytes", value="777")]})

    def sources() -> list[ConfigSource]:
        entries = cluster.describe_configs([topic], synonyms=True)[topic]
        assert not isinstance(entries, KedgeError)
        (found,) = (e for e in entries if e.name == "max.message.bytes")
        return [synonym.source for synonym in found.synonyms]

    wanted = [] if DEFAULTS in lacks else [ConfigSource.TOPIC, ConfigSource.BUILT_IN]
    assert eventually(sources, lambda seen: seen == wanted) == wanted


def test_a_dead_broker_is_refused_and_the_others_answer(
    cluster: Cluster, lacks: frozenset[str]
) -> None:
    gone, there = broker_resource(B9), broker_resource(B1)
    configs = cluster.describe_configs([gone, there])
    if DEFAULTS in lacks:  # the nodes of a broker are there without it
        assert configs[gone] == ()
        return
    assert isinstance(configs[gone], UnknownBroker)
    assert not isinstance(configs[there], KedgeError)
    change = ConfigChange(LEADER_RATE, ConfigOp.DELETE)
    answers = cluster.alter_configs({gone: [change], there: [change]})
    assert kinds(answers) == {gone: UnknownBroker, there: None}
    log_dirs = cluster.log_dirs([B9, B1])
    assert isinstance(log_dirs[B9], UnknownBroker)
    assert not isinstance(log_dirs[B1], KedgeError)


def test_client_quotas_are_set_found_and_removed(cluster: Cluster, lacks: frozenset[str]) -> None:
    user = f"contract-{uuid.uuid4().hex[:8]}"
    entity = quota_entity([("user", user), ("client-id", None)])
    if QUOTAS in lacks:
        with pytest.raises(UnsupportedByCluster):
            cluster.alter_quotas(entity, {"request_percentage": 12.5})
        return
    assert cluster.alter_quotas(entity, {"request_percentage": 12.5}) == {entity: None}
    wanted = {entity: {"request_percentage": 12.5}}

    def found() -> object:
        return cluster.describe_quotas(entity, strict=True)

    assert eventually(found, lambda seen: seen == wanted) == wanted
    anybody = cluster.describe_quotas(quota_entity([("user", "*"), ("client-id", "*")]))
    assert anybody[entity] == wanted[entity]
    assert cluster.describe_quotas(quota_entity([("user", user)]), strict=True) == {}
    assert cluster.alter_quotas(entity, {"request_percentage": None}) == {entity: None}
    assert eventually(found, lambda seen: seen == {}) == {}


# ---- moves --------------------------------------------------------------------------------------


def test_a_move_ends_with_the_wanted_replicas(cluster: Cluster, name: str) -> None:
    made(cluster, name, (B1, B2), (B2, B3))
    tp = TopicPartition(name, 0)
    assert cluster.alter_reassignments({tp: (B3, B2)}) == {tp: None}

    def replicas() -> tuple[BrokerId, ...]:
        return described(cluster, name, 2).partitions[0].replicas

    assert eventually(replicas, lambda seen: seen == (B3, B2)) == (B3, B2)
    assert tp not in eventually(cluster.reassignments, lambda seen: tp not in seen)
    assert described(cluster, name, 2).replicas()[1] == (B2, B3)


def test_moves_that_cannot_be_are_refused_one_by_one(cluster: Cluster, name: str) -> None:
    made(cluster, name, (B1,), (B1,), (B1,), (B1,))
    wanted = {0: (B9,), 1: None, 2: (B1, B1), 3: (B2,)}
    targets = {TopicPartition(name, p): target for p, target in wanted.items()}
    answers = cluster.alter_reassignments(targets)
    assert {tp.partition: kind for tp, kind in kinds(answers).items()} == {
        0: InvalidReplicaAssignment,
        1: NoReassignmentInProgress,
        2: InvalidReplicaAssignment,
        3: None,
    }


def test_an_unclean_election_is_needless_where_a_partition_is_led(
    cluster: Cluster, name: str, lacks: frozenset[str]
) -> None:
    made(cluster, name, (B1, B2))
    tp = TopicPartition(name, 0)
    if UNCLEAN in lacks:
        with pytest.raises(UnsupportedByCluster):
            cluster.elect_leaders(Election.UNCLEAN, [tp])
        return
    assert kinds(cluster.elect_leaders(Election.UNCLEAN, [tp])) == {tp: ElectionNotNeeded}


def test_the_preferred_leader_is_elected_where_it_does_not_lead(
    cluster: Cluster, name: str
) -> None:
    made(cluster, name, (B1, B2))
    tp = TopicPartition(name, 0)
    needless = cluster.elect_leaders(Election.PREFERRED, [tp])
    assert kinds(needless) == {tp: ElectionNotNeeded}
    cluster.alter_reassignments({tp: (B2, B1)})
    eventually(lambda: described(cluster, name).replicas()[0], lambda seen: seen == (B2, B1))
    assert described(cluster, name).partitions[0].leader == B1
    assert cluster.elect_leaders(Election.PREFERRED, [tp]) == {tp: None}

    def leader() -> BrokerId | None:
        return described(cluster, name).partitions[0].leader

    assert eventually(leader, lambda seen: seen == B2) == B2
    assert tp not in cluster.elect_leaders(Election.PREFERRED)


def test_a_replica_moves_to_another_directory(
    cluster: Cluster, name: str, lacks: frozenset[str]
) -> None:
    made(cluster, name, (B1,))
    if LOG_DIRS in lacks:
        with pytest.raises(UnsupportedByCluster):
            cluster.log_dirs([B1])
        return

    def places() -> dict[str, bool]:
        log_dirs = cluster.log_dirs([B1], [name])[B1]
        assert not isinstance(log_dirs, KedgeError)
        return {
            each.path: any(r.tp.topic == name and not r.future for r in each.replicas)
            for each in log_dirs
        }

    before = eventually(places, lambda seen: any(seen.values()))
    (empty,) = (path for path, used in before.items() if not used)
    replica = Replica(name, 0, B1)
    assert cluster.alter_log_dirs({replica: empty}) == {replica: None}
    assert eventually(places, lambda seen: seen[empty])[empty]


def test_directories_and_replicas_that_are_not_there_are_refused(
    cluster: Cluster, name: str, lacks: frozenset[str]
) -> None:
    made(cluster, name, (B1,))
    if LOG_DIRS in lacks:
        with pytest.raises(UnsupportedByCluster):
            cluster.alter_log_dirs({Replica(name, 0, B1): "/nowhere"})
        return
    known = cluster.log_dirs([B2])[B2]
    assert not isinstance(known, KedgeError)
    nowhere, elsewhere, nobody = Replica(name, 0, B1), Replica(name, 0, B2), Replica(name, 0, B9)
    path = known[0].path
    answers = cluster.alter_log_dirs({nowhere: "/nowhere", elsewhere: path, nobody: path})
    assert kinds(answers) == {
        nowhere: LogDirNotFound,
        elsewhere: ReplicaNotAvailable,
        nobody: UnknownBroker,
    }


def test_an_empty_batch_has_no_answers(cluster: Cluster, lacks: frozenset[str]) -> None:
    assert cluster.create_topics([]) == {}
    assert cluster.delete_topics([]) == {}
    assert cluster.describe_topics([]) == {}
    assert cluster.describe_configs([]) == {}
    assert cluster.alter_configs({}) == {}
    assert cluster.alter_reassignments({}) == {}
    assert cluster.elect_leaders(Election.PREFERRED, []) == {}
    if LOG_DIRS not in lacks:
        assert cluster.log_dirs([]) == {}


# ---- registrations ------------------------------------------------------------------------------


def test_only_a_cluster_that_keeps_registrations_removes_them(cluster: Cluster) -> None:
    if cluster.keeps_registrations():
        assert isinstance(cluster.unregister_broker(B9), UnknownBroker)
    else:
        with pytest.raises(UnsupportedByCluster):
            cluster.unregister_broker(B9)
