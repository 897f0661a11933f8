from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from kedge.lab import Lab, LabSettings
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
