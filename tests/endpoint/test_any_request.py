"""Whatever a client asks in the protocol's own words is answered, and the server goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kedge.protocol import APIS, Api
from tests.endpoint.client import Client
from tests.endpoint.endpoint_cluster import EndpointCluster, endpoint_cluster
from tests.endpoint.requests import create
from tests.protocol.strategies import messages

CASES = [(api, version) for api in APIS.values() for version in (api.oldest, api.newest)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[EndpointCluster]:
    with endpoint_cluster() as made, Client(made.ports[made.controller]) as client:
        create(client, "t", [[1, 2], [2, 3]])
        yield made


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].name}-{case[1]}")
@given(data=st.data())
@settings(
    max_examples=8,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_any_request_is_answered(
    cluster: EndpointCluster, case: tuple[Api, int], data: st.DataObject
) -> None:
    api, version = case
    request: Any = data.draw(messages(api.request, version))
    if hasattr(request, "timeout_ms"):
        request.timeout_ms = min(request.timeout_ms, 20)
    with Client(cluster.ports[cluster.controller], timeout_s=10) as client:
        client.ask(request, api.response, version)
