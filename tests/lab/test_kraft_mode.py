"""A lab in KRaft mode: controllers, their faults, and what only KRaft clusters answer."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from pathlib import Path

import pytest

from jvm import KAFKA_4_1
from jvm.tools import kafka_tools
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.errors import InvalidRequest, UnknownBroker
from kedge.lab import Lab, LabSettings
from kedge.lab.control_socket import send_command
from kedge.lab.kraft.kraft_mode import KraftMode
from kedge.model import BrokerId, TopicPartition
from tests.lab.labs import (
    GB,
    MB,
    create,
    detached,
    is_there,
    isr,
    kedge,
    leader,
    move,
    replicas,
    running,
    throttle,
    until,
)


def controllers(lab: Lab) -> KraftMode:
    assert isinstance(lab.mode, KraftMode)
    return lab.mode


def test_a_crashed_controller_is_replaced_and_moves_go_on() -> None:
    with running(brokers=3, speed=30, kraft=True, controllers=3) as (lab, admin):
        create(admin, "t", (0, 1))
        lab.fill("t", GB)
        first = lab.status()
        move(admin, "t", 0, 0, 2)
        assert lab.inject("controller-crash") == f"controller {first['controller']} has crashed"
        until(lambda: lab.status()["controller"] not in (None, first["controller"]))
        assert lab.status()["controller_epoch"] > first["controller_epoch"]
        until(lambda: replicas(lab, "t") == (0, 2))
        create(admin, "u", (1, 2))
        assert "is starting" in lab.inject("controller-start")
        until(lambda: len(_caught_up(lab)) == 3)


def _caught_up(lab: Lab) -> list[int]:
    quorum = controllers(lab).cluster.quorum
    return [
        c.id
        for c in quorum.controllers.values()
        if c.is_up and c.applied.offset == quorum.image_end
    ]


def test_a_controller_that_is_cut_off_resigns_and_follows_when_healed() -> None:
    with running(brokers=2, speed=30, kraft=True, controllers=3) as (lab, admin):
        first = lab.status()["controller"]
        lab.inject("partition-network", str(first))
        until(lambda: lab.status()["controller"] not in (None, first))
        create(admin, "t", (0, 1))
        lab.inject("heal")
        until(lambda: len(_caught_up(lab)) == 3)
        assert lab.status()["cut_off"] == []


def test_the_only_controller_may_crash_and_brokers_wait_for_it() -> None:
    with running(brokers=2, speed=30, kraft=True) as (lab, admin):
        create(admin, "t", (0, 1))
        lab.inject("controller-crash", 3001)
        assert lab.status()["controller"] is None
        assert set(admin.describe().alive) == {0, 1}  # brokers answer from their own image
        with pytest.raises(InvalidRequest, match="already down"):
            lab.inject("controller-crash", 3001)
        with pytest.raises(UnknownBroker, match="no controller '7'"):
            lab.inject("controller-crash", 7)
        lab.inject("controller-start", 3001)
        create(admin, "u", (1, 0))


def test_a_broker_that_is_cut_off_is_fenced_and_comes_back() -> None:
    with running(brokers=3, speed=60, kraft=True) as (lab, admin):
        create(admin, "t", (1, 2))
        lab.inject("partition-network", 1)
        until(lambda: leader(lab, "t") == 2)
        assert isr(lab, "t") == [2]
        until(lambda: set(admin.describe().alive) == {0, 2})
        lab.inject("heal")
        until(lambda: isr(lab, "t") == [1, 2])


@pytest.mark.parametrize("count", [1, 3])
def test_topics_configs_and_moves_are_there_after_a_restart(tmp_path: Path, count: int) -> None:
    settings = LabSettings(brokers=3, speed=30, kraft=True, controllers=count)
    with Lab.running(settings, tmp_path / "lab") as lab:
        admin = KafkaAdmin(lab.bootstrap_servers)
        create(admin, "t", (0, 1), retention_ms="1000000")
        lab.fill("t", GB)
        move(admin, "t", 0, 0, 2)
        admin.close()
    with Lab.running(None, tmp_path / "lab") as lab:
        assert lab.settings.controllers == count
        until(lambda: replicas(lab, "t") == (0, 2))
        assert lab.cluster.metadata.topic_config("t") == {"retention.ms": "1000000"}
        assert lab.traffic.size_of(BrokerId(2), TopicPartition("t", 0)) == GB


@pytest.mark.slow
def test_killed_in_the_middle_of_a_move_it_goes_on_from_the_controllers_log(
    tmp_path: Path,
) -> None:
    place = tmp_path / "lab"
    with detached(place, "--brokers", 3, "--speed", 60, "--kraft", "--controllers", 3) as about:
        with closing(KafkaAdmin(about["bootstrap_servers"])) as admin:
            create(admin, "t", (0, 1), retention_ms="100000000")
            send_command(place / "control.sock", "fill", topic="t", bytes=GB)
            throttle(admin, "t", MB, (0, 1, 2))  # 1000 s of lab time
            move(admin, "t", 0, 0, 2)
            # more than the second after which the logs are written
            until(lambda: _progress(place) > 0.1, "a part of the copy")
        os.kill(about["pid"], signal.SIGKILL)
        until(lambda: not is_there(about["pid"]))
    with Lab.running(LabSettings(brokers=3, speed=600, kraft=True, controllers=3), place) as lab:
        assert lab.bootstrap_servers == about["bootstrap_servers"]
        until(lambda: replicas(lab, "t") == (0, 2))
        assert lab.cluster.metadata.topic_config("t")["retention.ms"] == "100000000"
        assert lab.traffic.size_of(BrokerId(2), TopicPartition("t", 0)) == GB


def _progress(place: Path) -> float:
    (move,) = send_command(place / "control.sock", "status")["moves"]
    return move["progress"]


def test_a_stopped_broker_is_unregistered() -> None:
    with running(brokers=3, speed=60, kraft=True) as (lab, admin):
        assert admin.keeps_registrations()
        lab.inject("broker-crash", 2)
        until(lambda: set(admin.describe().alive) == {0, 1})
        image = controllers(lab).cluster
        assert 2 in image.image.brokers
        assert admin.unregister_broker(BrokerId(2)) is None
        until(lambda: 2 not in image.image.brokers)


def test_modes_are_not_mixed(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="use 1 or 3"):
        LabSettings(kraft=True, controllers=2)
    with pytest.raises(InvalidRequest, match="--kraft"):
        LabSettings(controllers=3)
    with Lab.running(LabSettings(brokers=1), tmp_path / "lab"):
        pass
    with (
        pytest.raises(InvalidRequest, match="created with kraft False"),
        Lab.running(LabSettings(brokers=1, kraft=True), tmp_path / "lab"),
    ):
        pass


@pytest.mark.slow
def test_a_broker_is_drained_and_unregistered_by_one_command(tmp_path: Path) -> None:
    place = tmp_path / "lab"
    with detached(place, "--brokers", 4, "--speed", 600, "--kraft", "--controllers", 3) as about:
        server = ("--bootstrap-server", about["bootstrap_servers"])
        done = [kedge("topics", "create", *server, "--topic", "t", "--replication-factor", 3)]
        done += [kedge("lab", "fill", "--dir", place, "t", "1GB")]
        done += [kedge("drain", 3, *server, "--yes")]
        done += [kedge("lab", "inject", "--dir", place, "broker-crash", 3)]
        with closing(KafkaAdmin(about["bootstrap_servers"])) as admin:
            until(lambda: set(admin.describe().alive) == {0, 1, 2})
        done += [kedge("drain", 3, *server, "--unregister", "--yes")]
        assert [each.stderr for each in done if each.returncode] == []
        assert "Broker 3 unregistered" in done[-1].stdout + done[-1].stderr


@pytest.mark.real
@pytest.mark.slow
def test_kafkas_own_tools_describe_quorum_and_features(tmp_path: Path) -> None:
    with (
        running(brokers=3, kraft=True, controllers=3) as (lab, admin),
        kafka_tools(KAFKA_4_1, tmp_path) as tools,
    ):
        create(admin, "t", (0, 1))
        server = ("--bootstrap-server", lab.bootstrap_servers)
        status = tools("quorum", *server, "describe", "--status")
        assert status.code == 0, status.err
        told = dict(line.split(None, 1) for line in status.out.splitlines())
        assert told["LeaderId:"] == str(lab.status()["controller"])
        replication = tools("quorum", *server, "describe", "--replication")
        assert replication.code == 0, replication.err
        assert [line.split()[0] for line in replication.out.splitlines()[1:4]] == sorted(
            ["3001", "3002", "3003"], key=lambda c: c != str(lab.status()["controller"])
        )
        features = tools("features", *server, "describe")
        assert features.code == 0, features.err
        assert "Feature: metadata.version" in features.out
        assert "FinalizedVersionLevel: 4.1-IV1" in features.out
        changed = tools("features", *server, "disable", "--feature", "group.version")
        assert changed.code == 0, changed.out + changed.err
        assert "group.version" not in controllers(lab).cluster.image.features
