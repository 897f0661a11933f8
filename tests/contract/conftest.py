"""The places that the contract of the store is tried in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jvm.zookeeper import zookeeper
from kedge.lab import Lab, LabSettings
from tests.contract.places import JournalPlace, MemoryPlace, StorePlace, ZooKeeperPlace


@pytest.fixture(scope="session")
def zookeeper_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with zookeeper(tmp_path_factory.mktemp("zookeeper")) as address:
        yield address


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    with Lab.running(LabSettings(brokers=3, racks=3, first_id=1, speed=10)) as running:
        yield running
        assert running.world.engine.failures == []


@pytest.fixture(params=["memory", "journal", pytest.param("zookeeper", marks=pytest.mark.real)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePlace]:
    if request.param == "memory":
        made: StorePlace = MemoryPlace()
    elif request.param == "journal":
        made = JournalPlace(tmp_path / "journal")
    else:
        made = ZooKeeperPlace(request.getfixturevalue("zookeeper_address"))
    yield made
    made.close()
