from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicCreation
from kedge.lab import Lab, LabSettings
from kedge.model import BrokerId
from tests.web.browser import launched
from tests.web.served import Served, serving, settings_for


@pytest.fixture(scope="session")
def lab(new_database: Callable[[], str]) -> Iterator[Lab]:
    """A lab of six brokers that the tests of the server share; another for each database."""
    del new_database
    with Lab.running(LabSettings(brokers=6, racks=3, speed=60)) as lab:
        yield lab


@pytest.fixture(scope="session")
def served(
    lab: Lab, new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """A server over the lab, on each kind of database."""
    folder = tmp_path_factory.mktemp("serve")
    settings = settings_for(lab.bootstrap_servers, folder, database=new_database())
    with serving(settings) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    with launched() as browser:
        yield browser


@pytest.fixture
def skewed_lab(tmp_path: Path) -> Iterator[Lab]:
    """Four brokers, of which the first two hold everything."""
    settings = LabSettings(brokers=4, racks=2, speed=30)
    with Lab.running(settings, tmp_path / "lab") as lab:
        admin = KafkaAdmin(lab.bootstrap_servers)
        lists = {p: [BrokerId(p % 2), BrokerId((p + 1) % 2)] for p in range(8)}
        assert admin.create_topics([TopicCreation("skewed", assignment=lists)]) == {"skewed": None}
        admin.close()
        lab.fill("skewed", 200_000_000)
        yield lab


@pytest.fixture
def server(skewed_lab: Lab, tmp_path: Path, new_database: Callable[[], str]) -> Iterator[Served]:
    """A server over the skewed lab."""
    settings = settings_for(skewed_lab.bootstrap_servers, tmp_path, database=new_database())
    with serving(settings) as served:
        yield served
