"""A cluster that accepts connections and never answers, beside one that does."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from kedge.errors import TooManyRequests
from kedge.lab import Lab
from kedge.web.clusters.places import HELD, Places
from kedge.web.settings import ClusterSettings
from tests.web.served import Served, serving, settings_for

pytestmark = pytest.mark.timeout(180)

REQUESTS = 60  # more than the server has threads for requests to no cluster
SOON_S = 8.0
DEAD_MS = 20_000
READS = ("runs", "runs/latest", "topics/any", "brokers")


@pytest.fixture
def site(lab: Lab, tmp_path: Path) -> Iterator[Served]:
    """A server over the lab and a port behind which no broker is."""
    properties = tmp_path / "dead.properties"
    properties.write_text(f"request.timeout.ms={DEAD_MS}\ndefault.api.timeout.ms={DEAD_MS}\n")
    with socket.create_server(("127.0.0.1", 0), backlog=500) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        settings = settings_for(lab.bootstrap_servers, tmp_path)
        dead = ClusterSettings("dead", address, command_config=properties)
        with serving(replace(settings, clusters={**settings.clusters, "dead": dead})) as served:
            yield served


def _status(served: Served, read: str) -> int:
    with served.client() as client:
        return client.get(f"/api/v1/clusters/dead/{read}", timeout=None).status_code


def test_requests_to_a_dead_cluster_leave_threads_for_the_others(site: Served) -> None:
    with ThreadPoolExecutor(REQUESTS * len(READS)) as pool, site.client() as client:
        asked = [pool.submit(_status, site, read) for read in READS for _ in range(REQUESTS)]
        topics = asked[2 * REQUESTS : 3 * REQUESTS]
        refused = islice(as_completed(topics), REQUESTS - HELD)  # at once: the others hold threads
        assert {each.result() for each in refused} == {429}
        for path in ("lab", "lab/runs", "lab/brokers", "dead"):
            found = client.get(f"/api/v1/clusters/{path}", timeout=SOON_S)
            assert found.status_code == 200, found.text
        assert not all(each.done() for each in asked), "requests to the dead cluster wait still"
        assert {each.result() for each in asked} <= {429, 503, 504}


def test_a_cluster_that_did_not_answer_a_moment_ago_is_not_read_for_a_request(
    site: Served,
) -> None:
    observed = site.services.watchers["dead"].await_version(1, 60.0)
    assert observed.problem is not None
    with site.client() as client:
        for read in ("runs", "runs/latest", "topics/any"):
            refused = client.get(f"/api/v1/clusters/dead/{read}", timeout=SOON_S)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
            assert "The cluster dead cannot be read" in refused.json()["detail"]


def test_one_request_too_many_to_a_cluster_is_refused_at_once() -> None:
    places = Places("lab")
    held = [places.held() for _ in range(HELD)]
    for each in held:
        each.__enter__()
    with pytest.raises(TooManyRequests, match="to the cluster lab"), places.working():
        pass
    held[0].__exit__(None, None, None)
    with places.working():
        pass
