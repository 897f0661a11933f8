"""The dashboards for Grafana show exactly the metrics that Kedge exports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kedge.brokers.wire import WireBrokers
from kedge.model import BrokerId
from kedge.quorum.roles import RoleName
from kedge.service.kraft.metrics import KraftCollector
from kedge.service.kraft.process import KraftService
from kedge.service.metrics import MetricsServer
from tests.runtime.lab import Lab
from tests.service.measured import ANYWHERE, Service, fetched

DASHBOARDS = Path(__file__).parents[2] / "docs" / "dashboards"


def queries(dashboard: str) -> list[str]:
    found: dict[str, Any] = json.loads((DASHBOARDS / dashboard).read_text())
    texts = [target["expr"] for panel in found["panels"] for target in panel["targets"]]
    return [*texts, *(v["query"] for v in found["templating"]["list"] if v["type"] == "query")]


def named(dashboard: str) -> set[str]:
    """The names of metrics in all queries."""
    return {name for query in queries(dashboard) for name in re.findall(r"\bkedge_\w+", query)}


def families(text: str) -> set[str]:
    """The names of the families of a scrape, counters with their ending."""
    found = text_string_to_metric_families(text)
    return {f"{f.name}_total" if f.type == "counter" else f.name for f in found}


def exported() -> set[str]:
    """What a controller serves."""
    wire = WireBrokers(node=BrokerId(100))
    server = MetricsServer(Service(Lab(3).loop, wire), ANYWHERE)
    try:
        return families(fetched(server, "/metrics")[1])
    finally:
        server.stop()
        wire.close()


def exported_by_kraft() -> set[str]:
    """What a controller of KRaft serves; of what it reads, only the shape counts here."""
    image = SimpleNamespace(
        brokers={}, topics={}, indexes=SimpleNamespace(leaderless=(), imbalanced=())
    )
    role = SimpleNamespace(name=RoleName.LEADER, leader_id=1, epoch=3)
    node = SimpleNamespace(role=role, log=SimpleNamespace(high_watermark=5, end=6))
    service = SimpleNamespace(
        controller=None,
        node=node,
        stable=image,
        is_active=True,
        applied=SimpleNamespace(offset=5),
        connections=2,
        requests={"fetch": 7},
    )
    registry = CollectorRegistry(auto_describe=False)
    registry.register(KraftCollector(cast("KraftService", service)))
    return families(generate_latest(registry).decode())


def test_every_query_names_metrics_that_are_exported_and_every_metric_is_shown() -> None:
    assert named("controller.json") == exported()
    assert named("kraft-controller.json") == exported_by_kraft()


@pytest.mark.parametrize("dashboard", sorted(path.name for path in DASHBOARDS.iterdir()))
def test_panels_have_a_place_a_title_and_an_id_of_their_own(dashboard: str) -> None:
    panels = json.loads((DASHBOARDS / dashboard).read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["title"] and panel["targets"] for panel in panels)
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells)  # no panel covers another
    assert max(x for x, _ in cells) < 24
