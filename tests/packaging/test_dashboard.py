"""The Grafana dashboard shows figures that the server has."""

from __future__ import annotations

import json
import re
from pathlib import Path

from kedge.web.api.health import metrics_of
from tests.web.served import Served

DASHBOARD = Path(__file__).parents[2] / "packaging/grafana/kedge.json"


def test_every_figure_of_the_dashboard_is_one_of_the_server(served: Served) -> None:
    document = json.loads(DASHBOARD.read_text())
    text = metrics_of(served.services).decode()
    known = set(re.findall(r"^# TYPE (kedge_\w+)", text, re.MULTILINE))
    queries = [target["expr"] for panel in document["panels"] for target in panel["targets"]]
    used = set(re.findall(r"kedge_\w+", " ".join(queries)))
    assert used <= known, used - known
    assert len({panel["id"] for panel in document["panels"]}) == len(document["panels"])
    places = [tuple(panel["gridPos"][n] for n in "xy") for panel in document["panels"]]
    assert len(set(places)) == len(places), "no panel covers another"


def test_every_figure_of_the_server_is_on_the_dashboard(served: Served) -> None:
    text = metrics_of(served.services).decode()
    known = set(re.findall(r"^# TYPE (kedge_\w+)", text, re.MULTILINE))
    missing = known - set(re.findall(r"kedge_\w+", DASHBOARD.read_text()))
    assert missing == {"kedge_cluster_brokers", "kedge_cluster_partitions"}, missing
