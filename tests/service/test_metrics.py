"""Metrics, health and the role of a controller process."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from kedge.brokers.wire import WireBrokers
from kedge.brokers.wire_forms import Address
from kedge.cli.app import run
from kedge.controller.events import ReassignmentsListed
from kedge.errors import InvalidRequest
from kedge.model import BrokerId
from kedge.runtime import LogEntry, Loop
from kedge.service.metrics import MetricsServer
from kedge.service.role_log import RoleLog
from kedge.store.memory import MemoryStore
from tests.runtime.lab import Lab
from tests.service.measured import ANYWHERE, Service, fetched


@pytest.fixture
def lab() -> Lab:
    return Lab(3)


@pytest.fixture
def service(lab: Lab) -> Iterator[Service]:
    wire = WireBrokers(node=BrokerId(100))
    yield Service(lab.loop, wire)
    wire.close()


@pytest.fixture
def server(service: Service) -> Iterator[MetricsServer]:
    made = MetricsServer(service, ANYWHERE)
    yield made
    made.stop()


def gauge(server: MetricsServer, name: str) -> float:
    _, text = fetched(server, "/metrics")
    (line,) = (x for x in text.splitlines() if x.startswith(f"kedge_controller_{name} "))
    return float(line.split()[1])


def test_gauges_follow_the_cluster(lab: Lab, server: MetricsServer) -> None:
    lab.create("t", [1, 2], [2, 3], [3])
    lab.settle()
    names = ("active", "under_replicated_partitions", "offline_partitions", "event_queue_size")
    assert [gauge(server, name) for name in names] == [1, 0, 0, 0]
    lab.stop(3)
    lab.settle()
    assert [gauge(server, name) for name in names] == [1, 1, 1, 0]
    lab.loop.put(ReassignmentsListed(), lambda _: None)
    assert gauge(server, "event_queue_size") == 1


def test_health_is_that_of_the_role_and_of_the_session(
    lab: Lab, service: Service, server: MetricsServer
) -> None:
    assert fetched(server, "/healthz") == (200, "active: controller epoch 1\n")
    lab.store.disconnect()
    assert fetched(server, "/healthz") == (503, "no session with ZooKeeper\n")
    assert gauge(server, "zookeeper_connected") == 0
    lab.store.reconnect()
    assert fetched(server, "/healthz")[0] == 200
    active = lab.loop
    service.loop = lab.elect(101)
    assert fetched(server, "/healthz") == (200, "standby: controller is node 100\n")
    active.close()
    lab.settle()
    assert fetched(server, "/healthz") == (200, "active: controller epoch 2\n")


def test_metrics_are_served_on_the_address_that_was_chosen(service: Service) -> None:
    server = MetricsServer(service, Address("127.0.0.2", 0))
    try:
        with socket.create_connection(("127.0.0.2", server.port), timeout=10):
            pass
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port), timeout=10)
        with pytest.raises(
            InvalidRequest, match=r"--metrics-listen 127.0.0.2:\d+: Address already"
        ):
            MetricsServer(service, Address("127.0.0.2", server.port))
    finally:
        server.stop()


def test_a_standby_logs_its_state_at_the_start_and_on_each_change(lab: Lab) -> None:
    active, log = lab.loop, list[LogEntry]()
    standby = lab.elect(101)
    role = RoleLog(standby, MemoryStore(lab.ensemble), log.append)
    for _ in range(3):
        role.update()
    assert [entry.what for entry in log] == ["standby: controller is node 100, epoch 1"]
    lab.store.disconnect()
    role.update()
    lab.store.reconnect()
    role.update()
    active.close()
    standby.run_until_idle()
    role.update()
    assert [entry.what for entry in log][1:] == [
        "standby: no session with ZooKeeper",
        "standby: controller is node 100, epoch 1",
        "active: this node is the controller, epoch 2",
    ]


def test_without_a_controller_a_standby_is_unhealthy_and_says_so(
    lab: Lab, service: Service, server: MetricsServer
) -> None:
    idle = Loop(BrokerId(102), MemoryStore(lab.ensemble), lab.recorder, now_ms=lambda: 0)
    service.loop = idle
    assert fetched(server, "/healthz") == (503, "standby: there is no controller\n")
    log: list[LogEntry] = []
    RoleLog(idle, MemoryStore(lab.ensemble), log.append).update()
    assert [entry.what for entry in log] == ["standby: there is no controller"]


def test_the_epoch_of_another_controller_is_unknown_while_the_store_is_unavailable(
    lab: Lab,
) -> None:
    standby, log = lab.elect(101), list[LogEntry]()
    store = MemoryStore(lab.ensemble)
    store.disconnect()
    RoleLog(standby, store, log.append).update()
    assert [entry.what for entry in log] == ["standby: controller is node 100, epoch ?"]


def test_one_line_tells_how_many_transitions_were_refused_and_names_the_first(lab: Lab) -> None:
    lab.create("t", *([[9]] * 50))
    lab.log.clear()
    lab.settle()
    (refused,) = (entry for entry in lab.log if entry.severity == "warning")
    assert refused.what.startswith("50 partitions ↛ OnlinePartition: t-0: ")
    assert refused.what.endswith("; and 49 more")
    assert len(refused.details["refused"]) == 50


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--metrics-listen", "9090"), "'9090' is not an address"),
        (("--metrics-listen", "h:1", "--metrics-port", "1"), "exclude each other"),
    ],
)
def test_a_wrong_metrics_address_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert run(["controller", "run", "--zookeeper", "127.0.0.1:1", *words]) == 2
    assert said in capsys.readouterr().err
