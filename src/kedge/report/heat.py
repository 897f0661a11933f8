"""How full each broker is before and after a plan: rows, and a heat map for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kedge.balance.goals.apply_goals import apply_goals
from kedge.balance.goals.goals import Goals, goals_from_json
from kedge.balance.output.figures import NAMES, brokers_that_stay, capacities, loads_of
from kedge.model.columns import widened
from kedge.model.snapshot import Snapshot
from kedge.plan import Plan, rows_in

Row = dict[str, Any]
# Cells differ in density as well as in colour: without a terminal there is no colour.
STEPS = (
    (0.8, "[blue]··[/]", "far under"),
    (0.95, "[cyan]░░[/]", "under"),
    (1.05, "[green]▒▒[/]", "its share"),
    (1.25, "[yellow]▓▓[/]", "over"),
    (float("inf"), "[red]██[/]", "far over"),
)


def heat_rows(plan: Plan, snapshot: Snapshot) -> list[Row]:
    """Per broker each load over the mean of the brokers that stay, before and after."""
    cluster = apply_goals(snapshot, goals_from_json(plan.goals) if plan.goals else Goals())
    now = cluster.broker_index(cluster.assignment.replicas)
    before, later = plan.assignments
    width = max(now.shape[1], later.replicas.shape[1])
    after = widened(now, width).copy()
    changed = cluster.broker_index(widened(later.replicas, width))
    after[rows_in(cluster.assignment, before)] = changed
    capacity, stays = capacities(cluster), brokers_that_stay(cluster)
    leader = cluster.broker_index(cluster.acting_leader)
    loads = [loads_of(cluster, now, leader), loads_of(cluster, after, after[:, 0])]
    shares = [_shares(each, capacity, stays) for each in loads]
    kept = [name for place, name in enumerate(NAMES) if loads[0][:, place].any()]
    columns = [NAMES.index(name) for name in kept]
    return [
        {
            "broker": broker.id,
            "rack": broker.rack,
            "state": str(broker.state),
            "before": dict(zip(kept, shares[0][place, columns].tolist(), strict=True)),
            "after": dict(zip(kept, shares[1][place, columns].tolist(), strict=True)),
        }
        for place, broker in enumerate(cluster.brokers)
    ]


def _shares(loads: Any, capacity: Any, stays: Any) -> Any:
    mean = loads.sum(axis=0) / np.maximum(capacity[stays].sum(axis=0), 1e-300)
    return loads / capacity / np.where(mean > 0, mean, 1.0)


def heat_lines(rows: Sequence[Row]) -> list[str]:
    """One line per broker, in rich's markup: each load before → after, a cell beside its figure."""
    if not rows:
        return []
    names = list(rows[0]["before"])
    legend = "  ".join(f"{cell} {word}" for _, cell, word in STEPS)
    width = max(len(str(row["broker"])) for row in rows)
    lines = [f"{'':{width + 9}}{'  '.join(f'{name:^13}' for name in names)}"]
    for row in rows:
        cells = (_change(row["before"][name], row["after"][name]) for name in names)
        lines.append(f"broker {row['broker']:>{width}}  {'  '.join(cells)}")
    return [*lines, legend]


def _change(before: float, after: float) -> str:
    return f"{_cell(before)}{before:4.2f}→{_cell(after)}{after:4.2f}"


def _cell(share: float) -> str:
    return next(cell for limit, cell, _ in STEPS if share < limit)
