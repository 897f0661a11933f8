"""The states of a run, and a table of what each command does in each of them.

The state is read from the run's journal. A state in the middle of the work (`throttling`, `moving`,
`electing`, `releasing`, `cancelling`) that a command finds while it holds the lock means that the
process which carried the run out is gone: the run was interrupted there.

    planned → throttling → moving → electing → releasing → done
                  │  ↑       │  │       │
                  │  └paused←┘  │       │      a pause, or the end of a window
                  └─────────────┴───────┴──→ stopped (interrupt) or failed (error)

While a process is at work, other commands refuse (`AT_WORK`), except those that only show, and
those that are requests to the run (`requests`).

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
    PAUSED = "paused"
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
    RATE = "throttle --rate"
    PAUSE = "pause"
    CONTINUE = "continue"


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
    CHANGE_RATE = "changes its rate"
    CHANGE_RATE_OF_ROLLBACK = "changes the rate of its rollback"
    REQUEST = "sends the run a request"
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
_NOT_AT_WORK = Cell(
    Action.REFUSE,
    "Run {run} is not at work: no process carries it out",
    "continue it with kedge resume",
)
_WORKED_ON = Cell(
    Action.REFUSE,
    "Another kedge process on this machine is working on a run of this cluster",
    "kedge status shows how far it is",
)


def _row(**cells: Action | Cell) -> dict[RunState, Cell]:
    row = {
        RunState(name.replace("_", " ")): cell if isinstance(cell, Cell) else Cell(cell)
        for name, cell in cells.items()
    }
    assert len(row) == len(RunState)
    return row


def _at_work_only() -> dict[RunState, Cell]:
    """The row of a command that only a process at work can carry out."""
    ended = {
        RunState.RELEASING: _DONE,
        RunState.DONE: _DONE,
        RunState.CANCELLING: _CANCELLING,
        RunState.CANCELLED: _CANCELLED,
        RunState.ROLLED_BACK: _ROLLED_BACK,
    }
    return {state: ended.get(state, _NOT_AT_WORK) for state in RunState}


TABLE: Mapping[Verb, Mapping[RunState, Cell]] = {
    Verb.APPLY: _row(
        planned=Action.START,
        throttling=Action.START,
        moving=_UNFINISHED,
        paused=Action.START,
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
        paused=Action.CONTINUE,
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
        paused=Action.CONTINUE,
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
        paused=Action.CANCEL,
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
        paused=Action.ROLL_BACK,
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
    Verb.RATE: _row(
        planned=Action.CHANGE_RATE,
        throttling=Action.CHANGE_RATE,
        moving=Action.CHANGE_RATE,
        paused=Action.CHANGE_RATE,
        stopped=Action.CHANGE_RATE,
        electing=Action.CHANGE_RATE,
        releasing=_DONE,
        done=_DONE,
        cancelling=_CANCELLING,
        cancelled=_CANCELLED,
        rolling_back=Action.CHANGE_RATE_OF_ROLLBACK,
        rolled_back=_ROLLED_BACK,
        failed=Action.CHANGE_RATE,
    ),
    Verb.PAUSE: _at_work_only(),
    Verb.CONTINUE: _at_work_only(),
}

AT_WORK: Mapping[Verb, Cell] = {
    **dict.fromkeys(Verb, _WORKED_ON),
    **dict.fromkeys((Verb.STATUS, Verb.THROTTLE), Cell(Action.SHOW)),
    **dict.fromkeys((Verb.RATE, Verb.PAUSE, Verb.CONTINUE), Cell(Action.REQUEST)),
}


def table_lines() -> list[str]:
    """The table as Markdown, states down and commands across; last, a process at work."""
    verbs = list(Verb)
    return [
        f"| state | {' | '.join(f'`{verb}`' for verb in verbs)} |",
        f"|---|{'---|' * len(verbs)}",
        *(
            f"| {state} | {' | '.join(_shown(TABLE[verb][state]) for verb in verbs)} |"
            for state in RunState
        ),
        f"| any, at work | {' | '.join(_shown(AT_WORK[verb]) for verb in verbs)} |",
    ]


def refusal_lines() -> list[str]:
    """Every sentence that refuses, as a Markdown list."""
    cells = [cell for row in (*TABLE.values(), AT_WORK) for cell in row.values() if cell.what]
    return [f"- `{cell.what}; {cell.hint}`" for cell in dict.fromkeys(cells)]


def _shown(cell: Cell) -> str:
    return f"refuses: {_short(cell.what)}" if cell.action is Action.REFUSE else str(cell.action)


def _short(what: str) -> str:
    """A refusal without the names of runs and without its reason."""
    phrase = what.partition(":")[0].replace("{run} ", "").replace(" by run {rollback}", "")
    return phrase.lower()
