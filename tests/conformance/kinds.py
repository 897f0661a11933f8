"""Who runs which kind of case."""

from __future__ import annotations

from tests.conformance import admin_kinds, controller_kinds, placement_kinds
from tests.conformance.compare import Case, Runner


def runner_for(case: Case, *, store: str) -> Runner | None:
    """The runner of a case, or None where nothing runs its kind yet.

    Cases of the controller carry their inputs under `input`; kinds are told apart by that, since
    both families have one called `reassign_to`.
    """
    kind = case["kind"]
    if "input" in case:
        return controller_kinds.RUNNERS.get(kind)
    return {**placement_kinds.RUNNERS, **admin_kinds.RUNNERS}.get(kind)
