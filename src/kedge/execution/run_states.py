"""The states of a run, and a table of what each command does in each of them.

The state is read from the run's journal. A state in the middle of the work (`throttling`, `moving`,
`electing`, `releasing`, `cancelling`) that a command finds while it holds the lock means that the
process which carried the run out is gone: the run was interrupted there.

    planned → throttling → moving → electing → releasing → done
                  │           │         │
                  └───────────┴─────────┴──→ stopped (interrupt) or failed (error)

A rollback is a run of its own that undoes another. While it is not finished the run that it undoes
is `rolling back`, after that `rolled back`; these two states are derived, not written.

`apply` has two rows: the plan that it is given may be the plan of the run, or another one. The
documentation draws `TABLE` (`docs/reference/runs.md`) and the tests walk every cell of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class RunState(StrEnum):
    """How far a run is."""

    PLANNED = "planned"
    THROTTLING = "throttling"
    MOVING = "moving"
    STOPPED = "stopped"
    ELECTING = "electing"
    RELEASING = "releasing"
    DONE = "done"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    ROLLING_BACK = "rolling back"
    ROLLED_BACK = "rolled back"
    FAILED = "failed"


ENDED = frozenset({RunState.DONE, RunState.CANCELLED, RunState.ROLLED_BACK})
INTERRUPTIBLE = frozenset(
    {
        RunState.THROTTLING,
        RunState.MOVING,
        RunState.ELECTING,
        RunState.RELEASING,
        RunState.CANCELLING,
    }
)


class Verb(StrEnum):
    """The commands that concern runs."""

    APPLY = "apply (another plan)"
    APPLY_SAME = "apply (same plan)"
    RESUME = "resume"
    CANCEL = "cancel"
    ROLLBACK = "rollback"
    STATUS = "status"
    THROTTLE = "throttle"


class Action(StrEnum):
    """What a command does."""

    START = "starts a new run"
    CONTINUE = "continues the run"
    CONTINUE_ROLLBACK = "continues its rollback"
    CANCEL = "cancels its moves"
    CANCEL_ROLLBACK = "cancels its rollback"
    ROLL_BACK = "starts a rollback"
    CLOSE = "removes its throttles; nothing has moved"
    SHOW = "shows it"
    REFUSE = "refuses"


@dataclass(frozen=True, slots=True)
class Cell:
    """What a command does in a state; a refusal has its sentence and what to do instead."""

    action: Action
    what: str = ""
    hint: str = ""


_UNFINISHED = Cell(
    Action.REFUSE,
    "Run {run} is not finished",
    "continue it with kedge resume, or end it with kedge cancel or kedge rollback",
)
_CANCELLING = Cell(
    Action.REFUSE, "Run {run} is being cancelled", "finish that with kedge cancel first"
)
_ROLLING_BACK = Cell(
    Action.REFUSE,
    "Run {run} is being rolled back by run {rollback}",
    "continue the rollback with kedge rollback, or stop it with kedge cancel",
)
_ROLLED_BACK = Cell(
    Action.REFUSE,
    "Run {run} was rolled back by run {rollback}",
    "to undo the rollback, name it: kedge rollback --run {rollback}",
)
_DONE = Cell(Action.REFUSE, "Run {run} is done", "to undo it, use kedge rollback")
_CANCELLED = Cell(
    Action.REFUSE,
    "Run {run} was cancelled",
    "to try its plan again, use kedge apply; to undo what it moved, kedge rollback",
)


def _row(**cells: Action | Cell) -> dict[RunState, Cell]:
    row = {
        RunState(name.replace("_", " ")): cell if isinstance(cell, Cell) else Cell(cell)
        for name, cell in cells.items()
    }
    assert len(row) == len(RunState)
    return row


TABLE: Mapping[Verb, Mapping[RunState, Cell]] = {
    Verb.APPLY: _row(
        planned=Action.START,
        throttling=Action.START,
        moving=_UNFINISHED,
        stopped=Action.START,
        electing=_UNFINISHED,
        releasing=Action.START,
        done=Action.START,
        cancelling=_CANCELLING,
        cancelled=Action.START,
        rolling_back=_ROLLING_BACK,
        rolled_back=Action.START,
        failed=Action.START,
    ),
    Verb.APPLY_SAME: _row(
        planned=Action.CONTINUE,
        throttling=Action.CONTINUE,
        moving=Action.CONTINUE,
        stopped=Action.CONTINUE,
        electing=Action.CONTINUE,
        releasing=Action.START,
        done=Action.START,
        cancelling=_CANCELLING,
        cancelled=Action.START,
        rolling_back=_ROLLING_BACK,
        rolled_back=Action.START,
        failed=Action.CONTINUE,
    ),
    Verb.RESUME: _row(
        planned=Action.CONTINUE,
        throttling=Action.CONTINUE,
        moving=Action.CONTINUE,
        stopped=Action.CONTINUE,
        electing=Action.CONTINUE,
        releasing=_DONE,
        done=_DONE,
        cancelling=_CANCELLING,
        cancelled=_CANCELLED,
        rolling_back=Action.CONTINUE_ROLLBACK,
        rolled_back=_ROLLED_BACK,
        failed=Action.CONTINUE,
    ),
    Verb.CANCEL: _row(
        planned=Action.CLOSE,
        throttling=Action.CLOSE,
        moving=Action.CANCEL,
        stopped=Action.CANCEL,
        electing=Action.CANCEL,
        releasing=_DONE,
        done=_DONE,
        cancelling=Action.CANCEL,
        cancelled=_CANCELLED,
        rolling_back=Action.CANCEL_ROLLBACK,
        rolled_back=_ROLLED_BACK,
        failed=Action.CANCEL,
    ),
    Verb.ROLLBACK: _row(
        planned=Action.CLOSE,
        throttling=Action.CLOSE,
        moving=Action.ROLL_BACK,
        stopped=Action.ROLL_BACK,
        electing=Action.ROLL_BACK,
        releasing=Action.ROLL_BACK,
        done=Action.ROLL_BACK,
        cancelling=Action.ROLL_BACK,
        cancelled=Action.ROLL_BACK,
        rolling_back=Action.CONTINUE_ROLLBACK,
        rolled_back=_ROLLED_BACK,
        failed=Action.ROLL_BACK,
    ),
    Verb.STATUS: {state: Cell(Action.SHOW) for state in RunState},
    Verb.THROTTLE: {state: Cell(Action.SHOW) for state in RunState},
}


def table_lines() -> list[str]:
    """The table as Markdown, states down and commands across."""
    verbs = list(Verb)
    return [
        f"| state | {' | '.join(f'`{verb}`' for verb in verbs)} |",
        f"|---|{'---|' * len(verbs)}",
        *(
            f"| {state} | {' | '.join(_shown(TABLE[verb][state]) for verb in verbs)} |"
            for state in RunState
        ),
    ]


def refusal_lines() -> list[str]:
    """Every sentence that refuses, as a Markdown list."""
    cells = [cell for row in TABLE.values() for cell in row.values() if cell.what]
    return [f"- `{cell.what}; {cell.hint}`" for cell in dict.fromkeys(cells)]


def _shown(cell: Cell) -> str:
    return (
        f"refuses: {cell.what.replace('{run} ', '').replace(' by run {rollback}', '').lower()}"
        if cell.action is Action.REFUSE
        else str(cell.action)
    )
