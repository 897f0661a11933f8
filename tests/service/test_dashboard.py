"""The dashboard for Grafana shows exactly the metrics that a controller exports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from kedge.brokers.wire import WireBrokers
from kedge.model import BrokerId
from kedge.service.metrics import MetricsServer
from tests.runtime.lab import Lab
from tests.service.measured import ANYWHERE, Service, fetched

DASHBOARD = Path(__file__).parents[2] / "docs" / "dashboards" / "controller.json"


def queries() -> list[str]:
    found: dict[str, Any] = json.loads(DASHBOARD.read_text())
    texts = [target["expr"] for panel in found["panels"] for target in panel["targets"]]
    return [*texts, *(v["query"] for v in found["templating"]["list"] if v["type"] == "query")]


def exported() -> set[str]:
    """The names of the families that a controller serves, counters with their ending."""
    wire = WireBrokers(node=BrokerId(100))
    server = MetricsServer(Service(Lab(3).loop, wire), ANYWHERE)
    try:
        families = text_string_to_metric_families(fetched(server, "/metrics")[1])
        return {f"{f.name}_total" if f.type == "counter" else f.name for f in families}
    finally:
        server.stop()
        wire.close()


def test_every_query_names_metrics_that_are_exported_and_every_metric_is_shown() -> None:
    named = {name for query in queries() for name in re.findall(r"\bkedge_\w+", query)}
    assert named == exported()


def test_panels_have_a_place_a_title_and_an_id_of_their_own() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
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
