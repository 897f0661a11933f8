"""Real clusters for the tests of this directory."""

from __future__ import annotations

import pytest

from jvm.clusters import RealCluster
from tests.real import clusters


@pytest.fixture
def kraft(pytestconfig: pytest.Config) -> RealCluster:
    return clusters.kraft(pytestconfig)


@pytest.fixture(params=["4.1 KRaft", "3.9 ZooKeeper"])
def cluster(request: pytest.FixtureRequest) -> RealCluster:
    start = clusters.kraft if request.param == "4.1 KRaft" else clusters.zookeeper
    return start(request.config)
