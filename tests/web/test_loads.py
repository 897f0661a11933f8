"""Rates of partitions from Prometheus: on the pages, in plans, and in the samples of the loop."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kedge import wiring
from kedge.watch.policy import Policy
from kedge.web.settings import ClusterSettings, LoadSettings
from tests.pipeline.cluster_with_rates import renamed, server, small_cluster
from tests.pipeline.fake_prometheus import FakePrometheus, Fault
from tests.pipeline.fake_prometheus import serving as prometheus
from tests.web.served import Served, ended_job, key, serving, settings_for, until

API = "/api/v1/clusters/loaded"
SECRET = "hunter2"


@contextmanager
def _served(folder: Path, fake: FakePrometheus, **changed: Any) -> Generator[Served]:
    """A server of two brokers, of which one has all the traffic."""
    loads = LoadSettings(fake.url, range="10m", **changed)
    cluster = ClusterSettings(
        "loaded", "here:1", state=str(folder), sample_s=0.2, policy=Policy(sample_every_s=1.0)
    )
    clusters = {"loaded": replace(cluster, loads=loads)}
    settings = settings_for("", folder, clusters=clusters)
    with pytest.MonkeyPatch.context() as patch:
        # every thread of the server opens this cluster
        patch.setattr(wiring, "open_cluster", lambda *_: nullcontext(small_cluster()))
        with serving(settings) as served:
            yield served


def test_rates_are_on_brokers_in_plans_and_in_the_history(tmp_path: Path) -> None:
    with (
        prometheus(server()) as fake,
        _served(tmp_path, fake) as served,
        served.client() as client,
    ):
        loads = until(client, f"{API}/loads", lambda each: each["known"])
        assert (loads["source"], loads["partitions"], loads["problem"]) == ("prometheus", 8, None)
        assert loads["rules"] == {"offsets": 8}
        brokers = until(client, f"{API}/brokers", lambda each: each["brokers"]["bytes_in"][0])
        assert brokers["brokers"]["bytes_in"] == pytest.approx([10_000, 4], rel=0.02)
        planned = client.post(f"{API}/plans", json={"goals": {"tolerance": 0.2}}, headers=key())
        job = ended_job(client, planned.raise_for_status().json())
        assert job["state"] == "done", job
        plan = client.get(f"{API}/plans/{job['result']['plan_id']}").json()
        assert {"in", "out"} <= set(plan["summary"]["imbalance_after"]), plan["summary"]
        history = until(client, f"{API}/history?resource=bytes_in", lambda each: each["has_rates"])
        assert history["brokers"][0]["values"][-1] == pytest.approx(10_000, rel=0.02)


def test_series_of_other_exporter_rules_are_read_by_a_mapping_file(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    with prometheus(renamed(server(), rules)) as fake, _served(tmp_path, fake) as served:
        loads = served.services.registry.loads["loaded"]
        loads.read()
        assert not loads.row()["known"]
    with prometheus(fake), _served(tmp_path, fake, mapping=rules) as served:
        loads = served.services.registry.loads["loaded"]
        loads.read()
        assert loads.row()["rules"] == {"offsets": 8}


def test_a_server_that_refuses_is_told_without_its_secret(tmp_path: Path) -> None:
    auth = tmp_path / "auth.toml"
    auth.write_text(f'token = "{SECRET}"\n')
    fake = server()
    fake.faults = [Fault(401)]
    with prometheus(fake), _served(tmp_path, fake, auth=auth) as served, served.client() as client:
        loads = until(client, f"{API}/loads", lambda each: each["problem"])
        assert "401" in loads["problem"]
        assert SECRET not in str(loads)
        assert not loads["known"]
        assert client.get(f"{API}/brokers").json()["brokers"]["bytes_in"] == [None, None]
    assert fake.requests[0][2]["Authorization"] == f"Bearer {SECRET}"


def test_rates_of_long_ago_are_not_those_of_now(tmp_path: Path) -> None:
    with prometheus(server()) as fake, _served(tmp_path, fake) as served:
        loads = served.services.registry.loads["loaded"]
        loads.read()
        assert loads.row()["known"]
        began = time.time()
        loads._now = lambda: began + 3600.0
        assert not loads.row()["known"]


def test_a_cluster_without_a_source_says_so(served: Served) -> None:
    with served.client() as client:
        loads = client.get("/api/v1/clusters/lab/loads").raise_for_status().json()
    assert (loads["source"], loads["known"]) == (None, False)
