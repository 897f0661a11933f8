from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import (
    DuplicateInRequest,
    InconsistentRacks,
    InvalidConfiguration,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    KedgeError,
    PolicyViolation,
    TopicExists,
)
from kedge.topics import (
    BrokerConfigs,
    ClusterView,
    CreateProposal,
    CreateRequest,
    Defaults,
    Flavour,
    NewTopic,
    TieredRules,
    validate_create,
    validate_creates,
    validate_new_topic,
)
from tests.topics.clusters import brokers, draws, ids, topic, view, zero

LISTS = {0: ids(0, 1), 1: ids(1, 2)}


def never(proposal: object, /) -> None:
    raise PolicyViolation("no")


def test_counts_are_placed_and_configs_kept() -> None:
    request = CreateRequest("t", 3, 2, configs={"retention.ms": "1"})
    made = validate_create(request, view(), draw=draws(1, 0))
    assert made == NewTopic("t", {0: ids(1, 2), 1: ids(2, 0), 2: ids(0, 1)}, {"retention.ms": "1"})
    assert (made.partitions, made.replication_factor) == (3, 2)


def test_minus_one_means_the_clusters_defaults() -> None:
    cluster = replace(view(), defaults=Defaults(partitions=4, replication_factor=3))
    made = validate_create(CreateRequest("t"), cluster, draw=zero)
    assert (made.partitions, made.replication_factor) == (4, 3)


def test_lists_are_taken_as_they_are_even_for_brokers_that_do_not_exist() -> None:
    made = validate_create(
        CreateRequest("t", assignments={1: ids(-7, 9), 0: ids(8, 9)}), view(), draw=zero
    )
    assert list(made.assignment.items()) == [(0, ids(8, 9)), (1, ids(-7, 9))]


# Each row has the fault of its own line and of every line below it, where both are possible.
PRECEDENCE: list[tuple[str, CreateRequest, type[KedgeError]]] = [
    ("reserved", CreateRequest("__cluster_metadata", 0), InvalidRequest),
    (
        "known",
        CreateRequest("known", 9, assignments=LISTS, configs={"nope": None}),
        TopicExists,
    ),
    (
        "no value",
        CreateRequest("a b", 9, assignments=LISTS, configs={"nope": None}),
        InvalidConfiguration,
    ),
    ("both", CreateRequest("a b", 9, assignments=LISTS, configs={"nope": ""}), DuplicateInRequest),
    ("both, rf", CreateRequest("a b", -1, 9, assignments=LISTS), DuplicateInRequest),
    ("partitions", CreateRequest("a b", 0, 9, configs={"nope": ""}), InvalidPartitions),
    ("minus two", CreateRequest("a b", -2, 9), InvalidPartitions),
    ("rf", CreateRequest("a b", 1, 4, configs={"nope": ""}), InvalidReplicationFactor),
    ("rf zero", CreateRequest("a b", 1, 0), InvalidReplicationFactor),
    ("name", CreateRequest("a b", 1, 1, configs={"nope": ""}), InvalidTopic),
    ("marked", CreateRequest("going", 1, 1, configs={"nope": ""}), TopicExists),
    ("unseen", CreateRequest("unseen", 1, 1, configs={"nope": ""}), TopicExists),
    (
        "collision",
        CreateRequest("un.led", assignments={0: ids(1), 1: ids()}, configs={"nope": ""}),
        InvalidTopic,
    ),
    (
        "uneven",
        CreateRequest("t", assignments={0: ids(1), 1: ids(2, 2)}, configs={"nope": ""}),
        InvalidReplicaAssignment,
    ),
    (
        "twice",
        CreateRequest("t", assignments={0: ids(1, 1), 5: ids(2, 2)}, configs={"nope": ""}),
        InvalidReplicaAssignment,
    ),
    (
        "gap",
        CreateRequest("t", assignments={0: ids(1), 2: ids(2)}, configs={"nope": ""}),
        InvalidReplicaAssignment,
    ),
    ("config", CreateRequest("t", 1, 1, configs={"nope": ""}), InvalidConfiguration),
    ("policy", CreateRequest("t", 1, 1), PolicyViolation),
]


@pytest.mark.parametrize(
    ("request_", "error"), [row[1:] for row in PRECEDENCE], ids=[row[0] for row in PRECEDENCE]
)
def test_the_first_fault_in_kafkas_sequence_is_raised(
    request_: CreateRequest, error: type[KedgeError]
) -> None:
    topics = {name: topic([0]) for name in ("known", "going", "unseen", "un_led")}
    cluster = replace(
        view(topics),
        marked=frozenset({"going"}),
        unseen=frozenset({"going", "unseen"}),
    )
    with pytest.raises(KedgeError) as refusal:
        validate_create(request_, cluster, draw=zero, policy=never)
    assert type(refusal.value) is error


def test_a_topic_marked_for_deletion_is_said_to_be() -> None:
    cluster = replace(view({"t": topic([0])}), marked=frozenset("t"), unseen=frozenset("t"))
    with pytest.raises(TopicExists, match="marked for deletion"):
        validate_create(CreateRequest("t", 1, 1), cluster, draw=zero)


def test_mixed_racks_refuse_placement_but_not_lists() -> None:
    cluster = ClusterView(brokers=brokers("a", None))
    with pytest.raises(InconsistentRacks):
        validate_create(CreateRequest("t", 1, 1), cluster, draw=zero)
    made = validate_create(CreateRequest("t", assignments=LISTS), cluster, draw=zero)
    assert made.partitions == 2


@pytest.mark.parametrize(
    "assignment",
    [
        {0: ids(), 1: ids()},
        {-1: ids(0), 1: ids(1)},
        {2147483647: ids(1), 2147483646: ids(2), 6: ids(3)},
    ],
    ids=["all empty", "a negative id", "a sum of 32 bits"],
)
def test_kafkas_tests_of_lists_let_some_through(assignment: Mapping[int, tuple]) -> None:
    validate_new_topic("t", assignment, {}, existing=())


def test_no_partitions_at_all_are_refused() -> None:
    with pytest.raises(InvalidReplicaAssignment, match="missing"):
        validate_new_topic("t", {}, {}, existing=())


@pytest.mark.parametrize(
    ("assignments", "why"),
    [
        ({0: ids(0, 9)}, "no broker 9"),
        ({0: ids(0), 1: ids()}, "no replicas"),
        ({0: ids(0, 0)}, "twice"),
        ({0: ids(0), 1: ids(0, 1)}, "has 2 replicas"),
        ({0: ids(2)}, "none of 2 is active"),
        ({1: ids(0)}, "not 0 to 0"),
        ({-1: ids(0), 1: ids(1)}, "not 0 to 1"),
    ],
)
def test_kraft_is_stricter_about_lists(assignments: dict[int, tuple], why: str) -> None:
    cluster = replace(view(), fenced=frozenset(ids(2)))
    with pytest.raises(InvalidReplicaAssignment, match=why):
        validate_create(
            CreateRequest("t", assignments=assignments), cluster, draw=zero, flavour=Flavour.KRAFT
        )


def test_kraft_places_in_stripes_and_takes_mixed_racks() -> None:
    cluster = ClusterView(brokers=brokers("a", None))
    made = validate_create(CreateRequest("t", 1, 2), cluster, draw=zero, flavour=Flavour.KRAFT)
    assert sorted(made.assignment[0]) == [0, 1]
    with pytest.raises(InvalidPartitions):
        validate_create(CreateRequest("t", 0, 2), cluster, draw=zero, flavour=Flavour.KRAFT)


def test_a_policy_sees_counts_as_resolved_or_the_lists() -> None:
    seen: list[CreateProposal] = []
    configs = {"retention.ms": "1"}
    validate_create(CreateRequest("t", configs=configs), view(), draw=zero, policy=seen.append)
    validate_create(CreateRequest("u", assignments=LISTS), view(), draw=zero, policy=seen.append)
    assert seen == [
        CreateProposal("t", 1, 1, None, configs),
        CreateProposal("u", None, None, LISTS, {}),
    ]


def test_configs_are_validated_on_top_of_the_brokers_own() -> None:
    static = {"log.cleaner.min.compaction.lag.ms": "10"}
    cluster = replace(view(), broker_configs=BrokerConfigs(static=static))
    request = CreateRequest("t", 1, 1, configs={"max.compaction.lag.ms": "9"})
    assert validate_create(request, view(), draw=zero)
    with pytest.raises(InvalidConfiguration):
        validate_create(request, cluster, draw=zero)


def test_remote_storage_is_refused_where_there_is_none() -> None:
    request = CreateRequest("t", 1, 1, configs={"remote.storage.enable": "true"})
    assert validate_create(request, view(), draw=zero)
    with pytest.raises(InvalidConfiguration, match="no remote storage"):
        validate_create(request, replace(view(), tiered=TieredRules()), draw=zero)


# ---- batches -----------------------------------------------------------------------------------


def kinds(answers: list[NewTopic | KedgeError]) -> list[str]:
    return [type(answer).__name__ for answer in answers]


def test_refusals_stand_beside_successes() -> None:
    requests = [CreateRequest("a", 1, 1), CreateRequest("b", 1, 9), CreateRequest("c", 1, 1)]
    answers = validate_creates(requests, view(), draw=zero)
    assert kinds(answers) == ["NewTopic", "InvalidReplicationFactor", "NewTopic"]


def test_a_name_twice_is_refused_twice_and_the_others_are_not() -> None:
    requests = [CreateRequest(name, 1, 1) for name in ("a", "b", "a")]
    answers = validate_creates(requests, view(), draw=zero)
    assert kinds(answers) == ["DuplicateInRequest", "NewTopic", "DuplicateInRequest"]


def test_topics_of_one_batch_collide_unless_it_is_only_validated() -> None:
    requests = [CreateRequest("a.b", 1, 1), CreateRequest("a_b", 1, 1)]
    cluster = view()
    assert kinds(validate_creates(requests, cluster, draw=zero)) == ["NewTopic", "InvalidTopic"]
    tried = validate_creates(requests, cluster, draw=zero, validate_only=True)
    assert kinds(tried) == ["NewTopic", "NewTopic"]
    assert cluster.topics == {}


@given(
    st.lists(st.text(alphabet="a._", max_size=2), max_size=4),
    st.integers(-1, 4),
    st.integers(-1, 4),
)
def test_whatever_is_accepted_is_sound(names: list[str], partitions: int, rf: int) -> None:
    requests = [CreateRequest(name, partitions, rf) for name in names]
    answers = validate_creates(requests, view(), draw=zero)
    made = [answer for answer in answers if isinstance(answer, NewTopic)]
    assert len(answers) == len(requests)
    assert len({topic.name.replace(".", "_") for topic in made}) == len(made)
    for new in made:
        assert sorted(new.assignment) == list(range(abs(partitions)))
        assert {len(set(replicas)) for replicas in new.assignment.values()} == {abs(rf)}
