"""The lab's thread: runs the virtual clock at a multiple of wall-clock speed.

All simulated components run on this thread. Other threads pass work to it (`post`, `call`); it runs
in the order of submission, at the lab time of that moment. Lab time passes `speed` times as fast as
wall-clock time; `fast_forward` runs a span of lab time as fast as the machine can compute it.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from math import inf, isfinite
from typing import Any, TypeVar

from kedge.errors import RequestTimedOut
from kedge.lab.settings import MAX_SPEED
from kedge.sim.clock import Clock

T = TypeVar("T")
Action = Callable[[], object]

SLICE_S = 0.02  # how long due timers run before submitted work is checked again
WAIT_S_MAX = 0.5
BEHIND_S_MAX = 1.0  # beyond this lag, lab time is set back instead of caught up
CALL_S_MAX = 60.0
FAILURES_KEPT = 100


class ClockThread:
    """Runs a clock on a thread of its own."""

    def __init__(self, clock: Clock, speed: float) -> None:
        self.clock = clock
        self.failures: list[str] = []  # tracebacks of actions that raised; expected to stay empty
        self._speed = speed
        self._inbox: deque[Action] = deque()
        self._changed = threading.Condition()
        self._is_stopping = False
        self._fast_until_ms = clock.now_ms
        self._fast_waiters: list[tuple[int, threading.Event]] = []
        self._from_ms, self._from_s = clock.now_ms, time.monotonic()
        self._thread = threading.Thread(target=self._run, name="lab", daemon=True)

    # ---- from other threads ----

    def start(self) -> None:
        """Start the thread."""
        self._rebase()
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the work that was submitted before."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def post(self, action: Action) -> None:
        """Submit work without waiting for it."""
        with self._changed:
            self._inbox.append(action)
            self._changed.notify_all()

    def call(self, function: Callable[[], T], timeout_s: float = CALL_S_MAX) -> T:
        """Run a function on the thread; its result is returned and its exception raised here."""
        if threading.current_thread() is self._thread or not self._thread.is_alive():
            return function()
        result = _Result()
        self.post(lambda: result.compute(function))
        if not result.is_ready.wait(timeout_s):
            raise RequestTimedOut(f"the lab did not answer within {timeout_s:.0f} s")
        if result.error is not None:
            raise result.error
        return result.value

    def fast_forward(self, lab_ms: int, timeout_s: float = 600.0) -> None:
        """Run a span of lab time as fast as possible, and wait for its end."""
        done = threading.Event()

        def begin() -> None:
            end_ms = self.clock.now_ms + lab_ms
            self._fast_until_ms = max(self._fast_until_ms, end_ms)
            self._fast_waiters.append((end_ms, done))

        self.post(begin)
        if not done.wait(timeout_s):
            raise RequestTimedOut(f"{lab_ms} ms of lab time took more than {timeout_s:.0f} s")

    # ---- the thread ----

    def _run(self) -> None:
        while True:
            self._advance()
            self._drain()
            self._notify_fast_waiters()
            with self._changed:
                if self._is_stopping and not self._inbox:
                    return
                wait_s = self._wait_s()
                if wait_s > 0 and not self._inbox and not self._is_stopping:
                    self._changed.wait(wait_s)

    def _drain(self) -> None:
        while self._inbox:
            self._do(self._inbox.popleft())

    def _advance(self) -> None:
        """Run the timers that are due, for at most one slice of wall-clock time."""
        clock, target_ms = self.clock, self._target_ms()
        end_s = time.monotonic() + SLICE_S
        due_ms = clock.next_due_ms()
        while due_ms is not None and due_ms <= target_ms:
            self._do(clock.step)
            if self._inbox:
                self._drain()  # submitted work may concern this instant
            if time.monotonic() > end_s:
                return
            due_ms = clock.next_due_ms()
        if isfinite(target_ms):
            clock.now_ms = max(clock.now_ms, int(target_ms))

    def _target_ms(self) -> float:
        """The lab time that corresponds to the wall clock now."""
        if self._fast_until_ms > self.clock.now_ms:
            self._rebase(self._fast_until_ms)
            return self._fast_until_ms
        if self._speed >= MAX_SPEED:
            return inf
        behind_ms = self._paced_ms() - self.clock.now_ms
        if behind_ms > BEHIND_S_MAX * 1000 * self._speed:
            self._rebase()
        return self._paced_ms()

    def _paced_ms(self) -> float:
        return self._from_ms + (time.monotonic() - self._from_s) * 1000 * self._speed

    def _rebase(self, now_ms: int | None = None) -> None:
        self._from_ms = self.clock.now_ms if now_ms is None else now_ms
        self._from_s = time.monotonic()

    def _wait_s(self) -> float:
        due_ms = self.clock.next_due_ms()
        if due_ms is None:
            return WAIT_S_MAX
        if self._speed >= MAX_SPEED or self._fast_until_ms > self.clock.now_ms:
            return 0.0
        return min((due_ms - self._paced_ms()) / 1000 / self._speed, WAIT_S_MAX)

    def _notify_fast_waiters(self) -> None:
        now_ms = self.clock.now_ms
        over = [done for end_ms, done in self._fast_waiters if end_ms <= now_ms]
        self._fast_waiters = [each for each in self._fast_waiters if each[0] > now_ms]
        for done in over:
            done.set()

    def _do(self, action: Action) -> None:
        """Run one action; an exception is recorded and does not end the lab."""
        try:
            action()
        except Exception:
            text = traceback.format_exc()
            if len(self.failures) < FAILURES_KEPT:
                self.failures.append(text)
                print(text, file=sys.stderr, flush=True)


class _Result:
    """The result of a call, on its way between two threads."""

    def __init__(self) -> None:
        self.is_ready = threading.Event()
        self.value: Any = None
        self.error: Exception | None = None

    def compute(self, function: Callable[[], Any]) -> None:
        try:
            self.value = function()
        except Exception as error:
            self.error = error
        self.is_ready.set()
