"""What the server shows of clusters: health, brokers, partitions, events, metrics."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import httpx

from kedge.lab import Lab
from kedge.web.access.roles import Role
from tests.web.served import Served, key, serving, settings_for


def test_a_cluster_is_listed_with_its_health(served: Served, lab: Lab) -> None:
    with served.client() as client:
        client.get("/api/v1/clusters/lab/brokers").raise_for_status()  # waits for the first read
        rows = client.get("/api/v1/clusters").json()["clusters"]
    assert [row["name"] for row in rows] == ["lab"]
    assert rows[0]["summary"]["cluster_id"] == lab.cluster_id
    assert rows[0]["summary"]["brokers"] == 6
    assert rows[0]["summary"]["racks"] == 3


def test_brokers_and_partitions_are_columns_that_agree(served: Served) -> None:
    with served.client() as client:
        body = {"name": "columns", "partitions": 8, "replication_factor": 3}
        client.post("/api/v1/clusters/lab/topics", json=body, headers=key()).raise_for_status()
        _await(served, "columns")
        partitions = client.get("/api/v1/clusters/lab/partitions").json()
        brokers = client.get("/api/v1/clusters/lab/brokers").json()["brokers"]
    rows = [i for i, t in enumerate(partitions["topic"]) if partitions["topics"][t] == "columns"]
    assert len(rows) == 8
    width = partitions["width"]
    replicas = [partitions["replicas"][row * width : (row + 1) * width] for row in rows]
    assert all(len(set(each) - {-1}) == 3 for each in replicas)
    assert all(partitions["in_sync"][row] == 3 for row in rows)
    held = sum(1 for each in partitions["replicas"] if each >= 0)
    assert sum(brokers["replicas"]) == held
    assert sum(brokers["leaders"]) == sum(1 for each in partitions["leader"] if each >= 0)
    assert sum(brokers["controller"]) == 1


def test_an_unchanged_document_is_not_sent_again(served: Served) -> None:
    path = "/api/v1/clusters/lab/partitions"
    with served.client() as client:
        etag = client.get(path).headers["etag"]
        again = client.get(path, headers={"If-None-Match": etag})
    assert again.status_code in (200, 304)
    if again.headers["etag"] == etag:
        assert again.status_code == 304
        assert again.content == b""


def test_reads_of_a_cluster_are_events(served: Served) -> None:
    with (
        served.client() as client,
        client.stream("GET", "/api/v1/clusters/lab/events") as stream,
    ):
        versions = [each["version"] for each in _events(stream, "observed", 3)]
    assert versions == sorted(set(versions))


def test_many_streams_are_refused_beyond_the_limit(served: Served) -> None:
    served.services.broadcaster._max, before = 2, served.services.broadcaster._max
    try:
        with served.client() as client, served.client() as second, served.client() as third:
            path = "/api/v1/clusters/lab/events"
            with client.stream("GET", path) as a, second.stream("GET", path) as b:
                events = a.iter_bytes(), b.iter_bytes()  # one that is forgotten closes its stream
                assert all(next(each) for each in events)
                assert third.get(path).status_code == 429
    finally:
        served.services.broadcaster._max = before


def test_a_cluster_that_cannot_be_reached_is_shown_as_such(tmp_path: Path) -> None:
    with serving(settings_for("127.0.0.1:1", tmp_path)) as served, served.client() as client:
        refused = client.get("/api/v1/clusters/lab/brokers")
        row = client.get("/api/v1/clusters/lab").json()
    assert refused.status_code == 503
    assert refused.headers["content-type"] == "application/problem+json"
    assert row["state"] == "unreachable"
    assert row["summary"] is None


def test_metrics_need_a_token_and_name_the_cluster(served: Served) -> None:
    with served.anonymous() as client:
        assert client.get("/metrics").status_code == 401
    with served.client(served.token_for(every=Role.READ)) as client:
        client.get("/api/v1/clusters/lab/brokers").raise_for_status()
        text = client.get("/metrics").text
    assert 'kedge_cluster_brokers{cluster="lab"} 6.0' in text
    dashboard = (Path(__file__).parents[2] / "docs" / "dashboards" / "clusters.json").read_text()
    shown = set(re.findall(r"kedge_\w+", dashboard)) - {"kedge_server_jobs"}
    assert "kedge_server_jobs" in text
    assert len(shown) > 10
    assert all(f"\n{name}" in text for name in shown)


def test_health_needs_no_token(served: Served) -> None:
    with served.anonymous() as client:
        assert client.get("/health/live").json() == {"status": "live"}
        assert client.get("/health/ready").json() == {"status": "ready"}


def _await(served: Served, topic: str) -> None:
    watcher = served.services.watchers["lab"]
    seen = threading.Event()
    while not seen.is_set():
        watcher.refresh()
        observed = watcher.await_version(watcher.observed.version + 1, 30)
        assert observed.view is not None
        if topic in observed.view.snapshot.assignment.topics:
            seen.set()


def _events(stream: httpx.Response, kind: str, count: int) -> list[dict[str, Any]]:
    """The first events of a kind; those of the loop may come in between."""
    documents: list[dict[str, Any]] = []
    last = ""
    for line in stream.iter_lines():
        if line.startswith("event: "):
            last = line.removeprefix("event: ")
        if line.startswith("data: ") and last == kind:
            documents.append(json.loads(line.removeprefix("data: ")))
        if len(documents) == count:
            break
    return documents
