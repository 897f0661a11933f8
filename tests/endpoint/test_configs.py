"""Configs of topics and brokers: where values come from, what may be set, what is written."""

from __future__ import annotations

import pytest

from kedge.endpoint import ResourceType
from kedge.model import BrokerId, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.protocol.messages import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kedge.store.znodes import decode_config
from kedge.topics import Defaults, FrozenConfigs, Op
from tests.endpoint.client import Client
from tests.endpoint.endpoint_cluster import ClusterSettings, EndpointCluster, endpoint_cluster
from tests.endpoint.requests import BROKER, TOPIC, Step, alter, create, describe, replace


def stored(cluster: EndpointCluster, entity: str) -> dict[str, str]:
    return decode_config(cluster.data(f"/config/{entity}"), entity)


# ---- topics --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(1, 5))
def test_a_topics_configs_tell_where_they_come_from(version: int) -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[BrokerId(2)]) as client:
        with Client(cluster.ports[cluster.controller]) as controller:
            create(controller, "t", [[1]])
        cluster.until(lambda: "t" in cluster.images.cache(BrokerId(2)).topics)
        assert alter(client, TOPIC, "t", ("cleanup.policy", Op.SET, "compact")) == (0, None)
        assert alter(client, BROKER, "", ("log.cleanup.policy", Op.SET, "delete,compact"))[0] == 0
        code, entries = describe(client, TOPIC, "t", version=version)
        policy = entries["cleanup.policy"]
        assert (code, len(entries), policy.value, policy.config_source) == (0, 36, "compact", 1)
        assert [(s.source, s.name, s.value) for s in policy.synonyms] == [
            (1, "cleanup.policy", "compact"),
            (3, "log.cleanup.policy", "delete,compact"),
            (5, "log.cleanup.policy", "delete"),
        ]
        if version >= 3:
            assert (policy.config_type, entries["segment.ms"].config_type) == (7, 5)


def test_only_the_named_configs_are_described() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[1]])
        assert list(describe(client, TOPIC, "t", ["retention.ms", "nope"])[1]) == ["retention.ms"]
        assert list(describe(client, TOPIC, "t", [])[1]) == []


def test_configs_of_what_is_not_there_are_refused() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        assert describe(client, TOPIC, "x") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, {})
        assert describe(client, TOPIC, "n o") == (ErrorCode.INVALID_TOPIC_EXCEPTION, {})
        assert describe(client, 77, "x") == (ErrorCode.INVALID_REQUEST, {})
        step = ("retention.ms", Op.SET, "1")
        assert alter(client, TOPIC, "x", step)[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert alter(client, TOPIC, "", step)[0] == ErrorCode.INVALID_REQUEST
        assert cluster.children("/config/topics") == ()


def test_steps_are_merged_and_announced() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[1]])
        steps = ("retention.ms", Op.SET, "5"), ("cleanup.policy", Op.APPEND, "compact")
        assert alter(client, TOPIC, "t", *steps) == (0, None)
        assert stored(cluster, "topics/t") == {
            "retention.ms": "5",
            "cleanup.policy": "delete,compact",
        }
        later = ("retention.ms", Op.DELETE, None), ("cleanup.policy", Op.SUBTRACT, "delete")
        assert alter(client, TOPIC, "t", *later) == (0, None)
        assert stored(cluster, "topics/t") == {"cleanup.policy": "compact"}
        notices = cluster.children("/config/changes")
        assert len(notices) == 2
        notice = cluster.data(f"/config/changes/{notices[0]}")
        assert notice == b'{"version":2,"entity_path":"topics/t"}'


def test_the_last_override_leaves_an_empty_node() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[1]])
        alter(client, TOPIC, "t", ("retention.ms", Op.SET, "5"))
        alter(client, TOPIC, "t", ("retention.ms", Op.DELETE, None))
        assert cluster.data("/config/topics/t") == b'{"version":1,"config":{}}'


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ([("retention.ms", Op.SET, "x")], ErrorCode.INVALID_CONFIG),
        ([("no.such", Op.SET, "1")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", Op.APPEND, "1")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", Op.SET, None)], ErrorCode.INVALID_REQUEST),
        ([("a", Op.SET, "1"), ("a", Op.DELETE, None)], ErrorCode.INVALID_REQUEST),
    ],
)
def test_steps_that_cannot_be_leave_everything_as_it_was(steps: list[Step], code: int) -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[1]])
        alter(client, TOPIC, "t", ("retention.ms", Op.SET, "5"))
        found, message = alter(client, TOPIC, "t", *steps)
        assert found == code
        assert message
        assert stored(cluster, "topics/t") == {"retention.ms": "5"}


def test_an_unknown_operation_is_refused() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[1]])
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource
        step = resource.AlterableConfig(name="retention.ms", config_operation=9, value="1")
        wanted = resource(resource_type=TOPIC, resource_name="t", configs=[step])
        answer = client.ask(
            IncrementalAlterConfigsRequest(resources=[wanted]), IncrementalAlterConfigsResponse
        )
        assert [r.error_code for r in answer.responses] == [ErrorCode.INVALID_REQUEST]


def test_a_resource_named_twice_is_refused_and_spares_the_others() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        for topic in ("t", "u"):
            create(client, topic, [[1]])
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource
        step = resource.AlterableConfig(name="retention.ms", config_operation=0, value="1")
        wanted = [
            resource(resource_type=TOPIC, resource_name=name, configs=[step])
            for name in ("t", "u", "t")
        ]
        answer = client.ask(
            IncrementalAlterConfigsRequest(resources=wanted), IncrementalAlterConfigsResponse
        )
        codes = {r.resource_name: r.error_code for r in answer.responses}
        assert codes == {"t": ErrorCode.INVALID_REQUEST, "u": 0}
        assert stored(cluster, "topics/t") == {}


def test_validating_configs_writes_nothing() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[1]])
        step = ("retention.ms", Op.SET, "5")
        assert alter(client, TOPIC, "t", step, validate_only=True) == (0, None)
        assert stored(cluster, "topics/t") == {}
        assert cluster.children("/config/changes") == ()


def test_the_older_request_replaces_everything() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[1]])
        assert replace(client, TOPIC, "t", retention__ms="5", segment__ms="7") == 0
        assert replace(client, TOPIC, "t", retention__ms="6") == 0
        assert stored(cluster, "topics/t") == {"retention.ms": "6"}
        assert replace(client, TOPIC, "t", retention__ms=None) == ErrorCode.INVALID_REQUEST
        assert stored(cluster, "topics/t") == {"retention.ms": "6"}


def test_an_operators_policy_freezes_configs() -> None:
    settings = ClusterSettings(alter_policy=FrozenConfigs(frozenset({"retention.ms"})))
    with (
        endpoint_cluster(brokers=1, settings=settings) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[1]])
        step = ("retention.ms", Op.SET, "5")
        assert alter(client, TOPIC, "t", step)[0] == ErrorCode.POLICY_VIOLATION


def test_allowing_unclean_leaders_brings_a_lost_partition_back_at_once() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[2, 3]])
        cluster.catch_up("t", 0, [2])
        cluster.stop(2)
        tp = TopicPartition("t", 0)
        controller = cluster.controller

        def leader() -> int | None:
            entry = cluster.images.cache(controller).entry(tp)
            return None if entry is None else entry.leadership.leader

        cluster.until(lambda: leader() == -1)
        step = ("unclean.leader.election.enable", Op.SET, "true")
        assert alter(client, TOPIC, "t", step) == (0, None)
        cluster.until(lambda: leader() == 3)


# ---- brokers -------------------------------------------------------------------------------------


def test_a_broker_speaks_only_for_itself() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[BrokerId(2)]) as client:
        step = ("leader.replication.throttled.rate", Op.SET, "100")
        assert alter(client, BROKER, "2", step) == (0, None)
        assert stored(cluster, "brokers/2") == {"leader.replication.throttled.rate": "100"}
        code, entries = describe(client, BROKER, "2")
        rate = entries["leader.replication.throttled.rate"]
        assert (code, rate.value, rate.config_source, rate.read_only) == (0, "100", 2, True)
        assert entries["broker.id"].value == "2"
        assert entries["num.partitions"].read_only
        for other in ("1", "x"):
            assert alter(client, BROKER, other, step)[0] == ErrorCode.INVALID_REQUEST
            assert describe(client, BROKER, other)[0] == ErrorCode.INVALID_REQUEST


def test_what_is_set_for_all_brokers_lies_under_what_is_set_for_one() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[BrokerId(2)]) as client:
        name = "follower.replication.throttled.rate"
        assert alter(client, BROKER, "", (name, Op.SET, "7"))[0] == 0
        assert cluster.data("/config/brokers/<default>") is not None
        assert describe(client, BROKER, "2")[1][name].config_source == 3
        assert alter(client, BROKER, "2", (name, Op.SET, "9"))[0] == 0
        entry = describe(client, BROKER, "2")[1][name]
        assert (entry.value, [s.value for s in entry.synonyms]) == ("9", ["9", "7"])
        assert list(describe(client, BROKER, "")[1]) == [name]


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (("num.partitions", Op.SET, "3"), ErrorCode.INVALID_REQUEST),
        (("num.partitions", Op.DELETE, None), 0),
        (("leader.replication.throttled.rate", Op.SET, "-1"), ErrorCode.INVALID_REQUEST),
        (("leader.replication.throttled.rate", Op.SET, "fast"), ErrorCode.INVALID_REQUEST),
        (("log.cleanup.policy", Op.SET, "burn"), ErrorCode.INVALID_REQUEST),
        (("log.cleanup.policy", Op.APPEND, "compact"), 0),
        (("plugin.of.ours", Op.SET, "x"), 0),
        (("leader.replication.throttled.rate", Op.DELETE, None), 0),
    ],
)
def test_what_may_be_set_on_a_running_broker(step: Step, code: int) -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        assert alter(client, BROKER, "1", step)[0] == code


def test_listeners_cannot_be_the_same_for_all_brokers() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        step = ("listeners", Op.SET, "PLAINTEXT://:1")
        assert alter(client, BROKER, "", step)[0] == ErrorCode.INVALID_REQUEST
        assert alter(client, BROKER, "1", step)[0] == 0


def test_an_unknown_config_is_sensitive() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        alter(client, BROKER, "1", ("plugin.secret", Op.SET, "x"))
        entry = describe(client, BROKER, "1")[1]["plugin.secret"]
        assert (entry.value, entry.is_sensitive) == (None, True)
        assert [s.value for s in entry.synonyms] == [None]


def test_a_time_can_be_given_in_other_units() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        unset = describe(client, BROKER, "1")[1]["log.retention.ms"]
        assert (unset.value, [s.name for s in unset.synonyms]) == (None, ["log.retention.hours"])
        alter(client, BROKER, "1", ("log.retention.ms", Op.SET, "1000"))
        entry = describe(client, BROKER, "1")[1]["log.retention.ms"]
        assert [(s.name, s.value) for s in entry.synonyms] == [
            ("log.retention.ms", "1000"),
            ("log.retention.hours", "168"),
        ]


def test_what_the_operator_chose_is_in_the_brokers_files() -> None:
    settings = ClusterSettings(defaults=Defaults(6, 1), static={"log.dirs": "/data"})
    with (
        endpoint_cluster(brokers=1, settings=settings) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        entries = describe(client, BROKER, "1")[1]
        found = {n: (entries[n].value, entries[n].config_source) for n in entries}
        assert found["num.partitions"] == ("6", 4)
        assert found["log.dirs"] == ("/data", 4)
        assert found["delete.topic.enable"] == ("true", 5)


def test_a_broker_without_loggers_says_so() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        assert describe(client, ResourceType.BROKER_LOGGER, "1") == (0, {})


def test_a_resource_that_is_named_many_times_is_described_once() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[1]])
        resource = DescribeConfigsRequest.DescribeConfigsResource
        named = [
            resource(resource_type=TOPIC, resource_name="t", configuration_keys=keys)
            for keys in [["retention.ms"], ["segment.bytes"], [], ["retention.ms"]] * 500
        ]
        request = DescribeConfigsRequest(resources=named)
        (result,) = client.ask(request, DescribeConfigsResponse).results
        assert [entry.name for entry in result.configs] == ["retention.ms", "segment.bytes"]
        whole = resource(resource_type=TOPIC, resource_name="t", configuration_keys=None)
        request = DescribeConfigsRequest(resources=[*named, whole])
        (result,) = client.ask(request, DescribeConfigsResponse).results
        assert len(result.configs) > 20


def test_a_list_that_grows_longer_than_a_text_may_be_is_refused() -> None:
    with (
        endpoint_cluster(brokers=1) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[1]])
        name = "leader.replication.throttled.replicas"

        def append(first: int) -> tuple[int, str | None]:
            replicas = ",".join(f"{number}:1" for number in range(first, first + 2_500))
            return alter(client, TOPIC, "t", (name, Op.APPEND, replicas))

        assert append(10_000) == (0, None)
        code, message = append(20_000)
        assert code == ErrorCode.INVALID_CONFIG
        assert name in (message or "")
        assert len(describe(client, TOPIC, "t", version=1)[1][name].value or "") < 32_767
