"""Someone who steers a run from a process of their own, while the process of the run waits."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.apply import Run, new_request
from kedge.execution import RequestKind, RunState, request_line
from tests.apply.deaths import Deaths, World

DAY_S = 86_400.0
Wish = tuple[RequestKind, int | None]  # with the rate, where one is wished


class Operator:
    """Sends one request at each wait while moves are under way, and ends a pause at midnight."""

    def __init__(self, wishes: Sequence[Wish] = ()) -> None:
        self._wishes = list(wishes)

    def act(self, world: World) -> None:
        """Look at the latest run, and send what is due."""
        runs = Deaths(world, kept=False).runs()
        for run in runs.all()[-1:]:
            state = runs.record_of(run).state
            if state is RunState.PAUSED:
                world.time += DAY_S - world.time % DAY_S
                _send(run, RequestKind.CONTINUE)
            elif state is RunState.MOVING and self._wishes:
                _send(run, *self._wishes.pop(0))


def _send(run: Run, kind: RequestKind, rate: int | None = None) -> None:
    run.send_request(request_line(new_request(kind, rate=rate)))
