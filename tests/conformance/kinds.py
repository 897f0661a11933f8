"""Who runs which kind of case."""

from __future__ import annotations

from tests.conformance import (
    admin_kinds,
    controller_kinds,
    kraft_kinds,
    placement_kinds,
    raft_kinds,
)
from tests.conformance.compare import Case, Runner
from tests.conformance.scenarios import run_scenario
from tests.conformance.stores import Trees


def runner_for(case: Case, trees: Trees) -> Runner | None:
    """The runner of a case, or None where nothing runs its kind yet.

    Cases of the controller carry their inputs under `input`; kinds are told apart by that, since
    both families have one called `reassign_to`.
    """
    kind = case["kind"]
    if kind in raft_kinds.RUNNERS:
        return raft_kinds.RUNNERS[kind]
    if kind == "scenario":
        return lambda case: run_scenario(case, trees.fresh())
    if "input" in case:
        return controller_kinds.RUNNERS.get(kind)
    return {**placement_kinds.RUNNERS, **admin_kinds.RUNNERS, **kraft_kinds.RUNNERS}.get(kind)
