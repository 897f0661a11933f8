"""SIGINT and SIGTERM while a command works: the work ends after its current step."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from kedge.cli.options import say


@contextmanager
def on_stop_signals(handle: Callable[[], None]) -> Generator[None]:
    """Within the block, SIGINT and SIGTERM call this function."""

    def on_signal(_number: int, _frame: object) -> None:
        handle()

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stop_event() -> Generator[threading.Event]:
    """An event that the signals set."""
    stop = threading.Event()
    with on_stop_signals(stop.set):
        yield stop


@contextmanager
def stop_requests() -> Generator[Callable[[], bool]]:
    """Whether a signal has come, for a run: a second one leaves the run as it is, at once."""
    from kedge.report.runs import LEFT, STOPPING

    received: list[bool] = []

    def stop() -> None:
        if received:
            say(LEFT)
            raise KeyboardInterrupt
        received.append(True)
        say(STOPPING)

    with on_stop_signals(stop):
        yield lambda: bool(received)
