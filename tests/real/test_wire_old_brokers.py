"""Brokers of Kafka 2.8 under Kedge: they look for their controller in other places than 3.9's."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path

import pytest

from jvm import free_port
from jvm.fleet import KAFKA_2_8
from kedge.store.port import Delete
from tests.real.kedge_cluster import Run, kedge_cluster, until

pytestmark = pytest.mark.real


def measured(port: int, name: str) -> float:
    """One figure of the controller's metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return 0.0 if found is None else float(found[1])


def test_old_brokers_are_led_moved_replaced_and_handed_over(tmp_path: Path) -> None:
    port = free_port()
    options = ["--metrics-port", str(port)]
    with kedge_cluster(tmp_path, release=KAFKA_2_8, protocol="2.8", options=options) as cluster:
        run = cluster.run
        run("topics", "--create", "--topic", "old", "--replica-assignment", "1:2,2:3")
        cluster.produce("old", [f"{n}" for n in range(1000)])
        plan = cluster.plan({("old", 0): [3, 2], ("old", 1): [1, 3]})
        run("reassign", "--execute", "--reassignment-json-file", plan)
        verify = ("reassign", "--verify", "--reassignment-json-file", plan)
        until(lambda: run(*verify).count("is completed") == 2)
        assert measured(port, "kedge_controller_active") == 1.0
        leave_and_come_back(cluster, port)
        fail_and_come_back(cluster)
        hand_over_and_take_back(cluster)
        assert len(cluster.read_all("old", 2)) == 1100
        assert "1000" not in run("topics", "--describe")


def leave_and_come_back(cluster: Run, port: int) -> None:
    """A broker of 2.8 finds its controller in its registration, and nowhere else."""
    name = 'kedge_endpoint_requests_total{request="ControlledShutdown"}'
    until(lambda: cluster.node("/brokers/ids/1000"))
    cluster.fleet.stop_broker(3)
    assert measured(port, name) == 1.0
    cluster.fleet.start_broker(3)
    until(lambda: all(3 in cluster.state("old", p)["isr"] for p in range(2)))


def fail_and_come_back(cluster: Run) -> None:
    """ZooKeeper gives a broker up, which is how a controller hears that one has died."""
    leader = int(cluster.state("old")["leader"])
    cluster.store.batch([Delete(f"/brokers/ids/{leader}")])

    def is_replaced() -> bool:
        states = [cluster.state("old", p) for p in range(2)]
        return all(leader not in (s["leader"], *s["isr"]) for s in states)

    until(is_replaced)
    cluster.fleet.stop_broker(leader)  # it does not know, and would mislead clients
    cluster.produce("old", [f"{n}" for n in range(100)])
    cluster.fleet.start_broker(leader)
    until(lambda: all(len(cluster.state("old", p)["isr"]) == 2 for p in range(2)))


def hand_over_and_take_back(cluster: Run) -> None:
    epoch = int(cluster.node("/controller_epoch") or b"0")
    assert cluster.controllers.pop(1000).stop() == 0
    until(lambda: cluster.controller() in (1, 2, 3))
    assert cluster.node("/brokers/ids/1000") is None
    cluster.run("topics", "--create", "--topic", "theirs", "--partitions", "2")
    cluster.start_kedge(1000, "--take-over")
    until(lambda: cluster.controller() == 1000)
    assert int(cluster.node("/controller_epoch") or b"0") == epoch + 2
    cluster.run("topics", "--create", "--topic", "ours", "--partitions", "2")
    replicas = json.loads(cluster.node("/brokers/topics/ours") or b"{}")["partitions"]
    assert all(broker in (1, 2, 3) for each in replicas.values() for broker in each)
