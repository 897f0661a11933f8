"""A lab is a cluster: topics come and go, leaders fall and are replaced, controllers too."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicCreation, topic_resource
from kedge.errors import InvalidRequest, UnknownBroker
from kedge.lab import Lab, LabSettings
from kedge.model import BrokerId, TopicPartition
from tests.lab.labs import change, create, isr, leader, running, until


def test_brokers_have_ids_ports_and_racks_in_turn() -> None:
    with running(brokers=5, racks=3, first_id=7) as (lab, admin):
        told = admin.describe()
        racks = {broker.id: broker.rack for broker in told.brokers}
        assert racks == {7: "r0", 8: "r1", 9: "r2", 10: "r0", 11: "r1"}
        assert len({broker.endpoints[0].port for broker in told.brokers}) == 5
        assert told.controller == lab.status()["controller"]
        assert told.cluster_id == lab.cluster_id


def test_a_topic_is_spread_over_racks_and_can_be_deleted() -> None:
    with running(brokers=6, racks=3) as (lab, admin):
        assert admin.create_topics([TopicCreation("t", 12, 3)]) == {"t": None}
        for number in range(12):
            now = lab.world.truth.assignment(TopicPartition("t", number))
            assert now is not None
            assert {lab.settings.rack_of(broker) for broker in now.replicas} == {"r0", "r1", "r2"}
        lab.fill("t", 10_000)
        assert admin.delete_topics(["t"]) == {"t": None}
        until(lambda: lab.status()["topics"] == 0)
        until(lambda: all(b["size_bytes"] == 0 for b in lab.status()["brokers"]))
        assert not any(machine.disks.held() for machine in lab.world.machines.values())


def test_asking_for_a_topic_creates_it_where_that_is_switched_on() -> None:
    from kafka import KafkaProducer

    with running(brokers=3, partitions=4, replication_factor=2) as (lab, _):
        producer = KafkaProducer(bootstrap_servers=lab.bootstrap_servers)
        try:
            assert producer.partitions_for("asked-for") == {0, 1, 2, 3}
        finally:
            producer.close()
        assert len(isr(lab, "asked-for")) == 2


def test_a_lost_leader_is_replaced_when_its_session_ends_and_comes_back_in_sync() -> None:
    with running(brokers=3, speed=60, session_timeout_ms=30_000) as (lab, admin):
        create(admin, "t", (0, 1, 2))
        lab.fill("t", 5_000_000)
        before = lab.status()["lab_ms"]
        lab.inject("broker-crash", 0)
        assert leader(lab, "t") == 0  # nobody knows yet
        until(lambda: leader(lab, "t") == 1)
        assert lab.status()["lab_ms"] - before >= 30_000
        assert isr(lab, "t") == [1, 2]
        assert lab.status()["under_replicated"] == 1
        lab.fill("t", 5_000_000)
        lab.inject("broker-start", 0)
        until(lambda: isr(lab, "t") == [0, 1, 2])
        assert [b["size_bytes"] for b in lab.status()["brokers"]] == [10_000_000] * 3


def test_a_crashed_broker_does_not_listen_until_it_is_back_on_its_port() -> None:
    import socket

    with running(brokers=2, session_timeout_ms=100) as (lab, admin):
        port = lab.status()["brokers"][1]["port"]
        lab.inject("broker-crash", 1)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)
        until(lambda: len(admin.describe().brokers) == 1)
        lab.inject("broker-start", 1)
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        until(lambda: len(admin.describe().brokers) == 2)


def test_another_candidate_takes_over_and_the_cluster_goes_on() -> None:
    with running(brokers=3) as (lab, admin):
        create(admin, "before", (0, 1))
        first = lab.status()
        assert f"controller {first['controller']}" in lab.inject("controller-failover")
        until(lambda: lab.status()["controller"] not in (None, first["controller"]))
        assert lab.status()["controller_epoch"] == first["controller_epoch"] + 1
        create(admin, "after", (2, 1))
        assert admin.describe().controller == lab.status()["controller"]


def test_the_controllers_broker_takes_its_role_with_it() -> None:
    with running(brokers=3, speed=20) as (lab, admin):
        create(admin, "t", (0, 1, 2))
        held = lab.status()["controller"]
        lab.inject("broker-crash", held)
        until(lambda: lab.status()["controller"] not in (None, held))
        admin.close()  # its connections are with the one that is gone
        with closing(KafkaAdmin(lab.bootstrap_servers)) as another:
            create(another, "u", tuple(b for b in (0, 1, 2) if b != held))


def test_brokers_that_are_cut_off_lose_their_leaderships_and_regain_sync_when_healed() -> None:
    with running(brokers=4, speed=60) as (lab, admin):
        create(admin, "t", (1, 2, 3))
        lab.inject("partition-network", "1,0")
        until(lambda: leader(lab, "t") == 2)
        assert lab.status()["cut_off"] == [0, 1]
        until(lambda: lab.status()["controller"] in (2, 3))
        lab.fill("t", 1_000_000)
        lab.inject("heal")
        until(lambda: isr(lab, "t") == [1, 2, 3])
        assert lab.status()["cut_off"] == []
        create(admin, "u", (0, 1))


def test_a_failed_directory_takes_only_its_own_replicas_offline() -> None:
    with running(brokers=3, speed=60) as (lab, admin):
        create(admin, "t", (0, 1), (0, 2))
        disks = lab.world.machines[BrokerId(0)].disks
        lost = disks.directory_of(TopicPartition("t", 0))
        kept = disks.directory_of(TopicPartition("t", 1))
        assert lost is not None
        assert lost != kept
        lab.inject("log-dir-failure", 0, lost.rsplit("/", 1)[-1])
        until(lambda: leader(lab, "t", 0) == 1)
        assert leader(lab, "t", 1) == 0
        states = admin.log_dirs([BrokerId(0)])[BrokerId(0)]
        assert isinstance(states, tuple)
        assert {state.path: state.error is None for state in states} == {lost: False, kept: True}
        lab.inject("heal")
        until(lambda: isr(lab, "t", 0) == [0, 1])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("broker-crash", "9"), "there is no broker '9'; brokers here are 0 to 2"),
        (("broker-crash",), "broker-crash takes 1 arguments; write broker-crash ID"),
        (("broker-start", "0"), "broker 0 is up already"),
        (("slow-disk", "0", "0.5"), "disks cannot be 0.5 times slower; write a number from 1 on"),
        (("slow-disk", "0", "nan"), "disks cannot be nan times slower; write a number from 1 on"),
        (
            ("log-dir-failure", "0", "d9"),
            "broker 0 has no directory 'd9'; it has /data/d0, /data/d1",
        ),
        (("partition-network", "0,x"), "there is no broker 'x'; brokers here are 0 to 2"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_in_a_sentence(
    words: tuple[str, ...], sentence: str, quiet_lab: Lab
) -> None:
    with pytest.raises((InvalidRequest, UnknownBroker)) as refusal:
        quiet_lab.inject(*words)
    assert str(refusal.value) == sentence


def test_an_unknown_fault_is_answered_with_the_known_ones(quiet_lab: Lab) -> None:
    with pytest.raises(InvalidRequest, match="'flood' cannot be injected; one of broker-crash,"):
        quiet_lab.inject("flood")


def test_no_thread_outlives_a_lab() -> None:
    before = set(threading.enumerate())
    with Lab.running(LabSettings(brokers=2)):
        assert set(threading.enumerate()) > before
    assert set(threading.enumerate()) == before


def test_notices_of_changed_configs_do_not_pile_up() -> None:
    from kedge.lab.notices import KEPT
    from kedge.store.znodes.paths import CONFIG_CHANGES

    with running(brokers=1) as (lab, admin):
        create(admin, "t", (0,))
        resource = topic_resource("t")
        for number in range(KEPT + 20):
            change(admin, resource, {"retention.ms": str(number)})
        lab.rush(2)
        kept = lab.world.ensemble.tree.nodes[CONFIG_CHANGES].children or ()
        assert len(kept) == KEPT
