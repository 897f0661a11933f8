"""The certificate: what proves a plan's bounds, as it is written into the plan.

    columns      the four loads that were counted, empty where nothing was
    best         per column: lower bound of the largest load ÷ capacity
    proof        per column: what proves it, "racks" (water filling) or "pigeonhole"
    joint        all columns together: `level` × best cannot be undercut; `kind` of each broker and
                 `prices` of each kind prove it, charged `by` kinds or by placements
    target       per column: load ÷ capacity that the bytes bound was computed for
    multipliers  per broker (by id): what proves the bytes, a price for each unit of load
    bytes_by     how: what each of the "brokers" must lose, or what "placements" cost
    bytes        no plan that stays within `target` moves less; `forced` of it are mandatory moves

`check` recomputes every figure from the snapshot; nothing here has to be trusted.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.bounds import Bounds, BytesProof
from kedge.balance.bounds.levels import pigeonhole_level
from kedge.balance.goals.problem import Floats
from kedge.balance.goals.task import Task

DIGITS = 12  # of every figure: more than the checker looks at


def certificate_of(
    task: Task, bounds: Bounds, target: Floats, proof: BytesProof
) -> dict[str, object]:
    """The certificate of bounds; `target` float64[R] is what the bytes are proved for."""
    ids = [broker.id for broker in task.snapshot.brokers]
    multipliers = proof.prices
    proving = np.flatnonzero((multipliers > 0).any(axis=1)).tolist()
    return {
        "columns": list(task.columns),
        "best": rounded(bounds.best),
        "proof": [_proof(task, bounds, column) for column in range(4)],
        "joint": {
            "level": float(bounds.joint),
            "kind": bounds.kind.tolist() if bounds.joint > 1 else [],
            "prices": [rounded(row) for row in bounds.prices] if bounds.joint > 1 else [],
            "by": bounds.joint_by,
        },
        "target": rounded(target),
        "multipliers": {str(ids[b]): rounded(multipliers[b]) for b in proving},
        "bytes_by": proof.by,
        "forced": float(bounds.mandatory_bytes),
        "bytes": float(proof.bytes),
    }


def _proof(task: Task, bounds: Bounds, column: int) -> str:
    level = float(bounds.best[column])
    if level <= 0:
        return ""
    holes = pigeonhole_level(task.problem, column)
    return "pigeonhole" if holes >= level * (1 - 1e-9) else "racks"


def rounded(values: Floats) -> list[float | None]:
    """Figures as JSON has them: 12 digits, null for what is without bound."""
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in values]
