"""Signals of the operator while a run goes on: the first stops it, the second leaves at once."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

from kedge.cli.options import say


@contextmanager
def stop_requests() -> Generator[Callable[[], bool]]:
    """Within the block, whether SIGINT or SIGTERM has come; a second one raises."""
    from kedge.report.runs import LEFT, STOPPING

    received: list[int] = []

    def on_signal(number: int, _frame: object) -> None:
        if received:
            say(LEFT)
            raise KeyboardInterrupt
        received.append(number)
        say(STOPPING)

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
