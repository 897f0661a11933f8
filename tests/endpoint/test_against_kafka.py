"""The same requests to three real brokers of Kafka 3.9 and to the endpoint: the same answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jvm.clusters import zookeeper_cluster
from kedge.model import BrokerId
from kedge.protocol.messages import MetadataRequest, MetadataResponse
from kedge.topics import AutoCreate
from tests.endpoint.battery import Named, Talk, battery, without_time
from tests.endpoint.client import Client
from tests.endpoint.endpoint_cluster import ClusterSettings, endpoint_cluster

PATIENCE_S = 5.0


def answers(
    talk: Talk, steps: Iterable[Named], expected: list[tuple[str, Any]] | None = None
) -> list[tuple[str, Any]]:
    """Every step's answer. Where something has to settle first, the request is repeated until it
    is as expected, or does not change any more."""
    found: list[tuple[str, Any]] = []
    for index, (name, act) in enumerate(steps):
        if name == "settle":
            wanted = None if expected is None else expected[index][1]
            found.append((name, settled(lambda act=act: act(talk), wanted)))
        else:
            found.append((name, act(talk)))
    return found


def settled(look: Callable[[], Any], wanted: Any) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    seen = [look()]
    while time.monotonic() < deadline:
        if seen[-1] == wanted or (wanted is None and len(seen) > 5 and seen[-5:] == [seen[-1]] * 5):
            break
        time.sleep(0.1)
        seen.append(look())
    return seen[-1]


def who_is_there(port: int) -> tuple[int, dict[int, int]]:
    """The controller and all ports, once everybody knows them."""
    with Client(port) as client:
        while True:
            found = client.ask(MetadataRequest(topics=[]), MetadataResponse, 9)
            if found.controller_id >= 0 and len(found.brokers) == 3:
                return found.controller_id, {b.node_id: b.port for b in found.brokers}
            time.sleep(0.05)


@pytest.mark.real
@pytest.mark.parametrize(("steps", "count"), [(battery, 100), (without_time, 20)])
def test_the_endpoint_answers_as_kafka_does(
    tmp_path: Path, steps: Callable[[], Iterator[Named]], count: int
) -> None:
    with zookeeper_cluster(tmp_path) as real:
        bootstrap = int(real.bootstrap.split(",")[0].split(":")[1])
        controller, ports = who_is_there(bootstrap)
        other = 3 if controller == 2 else 2
        with Client(ports[controller]) as one, Client(ports[other]) as two:
            kafka = answers(Talk(one, two, controller, other), steps())
    settings = ClusterSettings(auto_create=AutoCreate(enabled=False))
    with (
        endpoint_cluster(controller=controller, settings=settings) as cluster,
        Client(cluster.ports[BrokerId(controller)]) as one,
        Client(cluster.ports[BrokerId(other)]) as two,
    ):
        kedge = answers(Talk(one, two, controller, other), steps(), kafka)
    assert len(kafka) > count
    assert kedge == kafka
