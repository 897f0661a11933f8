"""Real clusters for the tests of this directory."""

from __future__ import annotations

import pytest

from jvm.clusters import RealCluster
from tests.real import clusters
from tests.real.four_brokers import RELEASES, FourBrokers


@pytest.fixture
def kraft(pytestconfig: pytest.Config) -> RealCluster:
    return clusters.kraft(pytestconfig)


@pytest.fixture(params=["4.1 KRaft", "3.9 ZooKeeper"])
def cluster(request: pytest.FixtureRequest) -> RealCluster:
    start = clusters.kraft if request.param == "4.1 KRaft" else clusters.zookeeper
    return start(request.config)


@pytest.fixture(params=RELEASES)
def four(request: pytest.FixtureRequest) -> FourBrokers:
    return clusters.four(request.config, request.param)
