"""When a search has to stop: after a time limit, or at the first Ctrl-C."""

from __future__ import annotations

import signal
import threading
from time import monotonic
from types import FrameType, TracebackType
from typing import Any


class StopSignal:
    """Set once the time is over or Ctrl-C was pressed; a second Ctrl-C interrupts as usual."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else monotonic() + seconds
        self._pressed = False
        self._before: Any = None

    def __enter__(self) -> StopSignal:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def is_set(self) -> bool:
        """Whether the search has to stop."""
        return self._pressed or (self._end is not None and monotonic() >= self._end)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self._pressed:
            raise KeyboardInterrupt
        self._pressed = True
