"""The lab's one thread: virtual time, kept in step with the wall clock, and a door for others.

Everything that is simulated happens on this thread. Other threads hand work in (`post`, `ask`); it
is done in the order of its coming, at the lab time of that moment. Time passes `speed` times as
fast as on the wall; `rush` lets it pass as fast as the machine can compute, for a while.
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

SLICE_S = 0.02  # how long events are worked off before the door is looked at again
WAIT_S_MAX = 0.5
BEHIND_S_MAX = 1.0  # a machine that cannot keep up lets lab time fall behind
ANSWER_S_MAX = 60.0
FAILURES_KEPT = 100


class Engine:
    """Runs a clock."""

    def __init__(self, clock: Clock, speed: float) -> None:
        self.clock = clock
        self.failures: list[str] = []  # of which there should be none
        self._speed = speed
        self._inbox: deque[Action] = deque()
        self._changed = threading.Condition()
        self._is_stopping = False
        self._rush_until_ms = clock.now_ms
        self._rushed: list[tuple[int, threading.Event]] = []
        self._from_ms, self._from_s = clock.now_ms, time.monotonic()
        self._thread = threading.Thread(target=self._run, name="lab", daemon=True)

    # ---- from other threads ----

    def start(self) -> None:
        """Let time pass."""
        self._rebase()
        self._thread.start()

    def stop(self) -> None:
        """End the thread; what was handed in before is done."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def post(self, action: Action) -> None:
        """Have something done soon."""
        with self._changed:
            self._inbox.append(action)
            self._changed.notify_all()

    def ask(self, question: Callable[[], T], timeout_s: float = ANSWER_S_MAX) -> T:
        """Have something done, and wait for what it comes to; its error is raised here."""
        if threading.current_thread() is self._thread or not self._thread.is_alive():
            return question()
        answer = _Answer()
        self.post(lambda: answer.find(question))
        if not answer.found.wait(timeout_s):
            raise RequestTimedOut(f"the lab did not answer within {timeout_s:.0f} s")
        if answer.error is not None:
            raise answer.error
        return answer.value

    def rush(self, lab_ms: int, timeout_s: float = 600.0) -> None:
        """Let so much lab time pass as fast as it can, and wait for that."""
        done = threading.Event()

        def begin() -> None:
            end_ms = self.clock.now_ms + lab_ms
            self._rush_until_ms = max(self._rush_until_ms, end_ms)
            self._rushed.append((end_ms, done))

        self.post(begin)
        if not done.wait(timeout_s):
            raise RequestTimedOut(f"{lab_ms} ms of lab time took more than {timeout_s:.0f} s")

    # ---- the thread ----

    def _run(self) -> None:
        while True:
            self._advance()
            self._drain()
            self._tell_rushed()
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
        """Work off what is due by now, for the time of a slice at most."""
        clock, target_ms = self.clock, self._target_ms()
        end_s = time.monotonic() + SLICE_S
        due_ms = clock.next_due_ms()
        while due_ms is not None and due_ms <= target_ms:
            self._do(clock.step)
            if self._inbox:
                self._drain()  # what is handed in may concern this very instant
            if time.monotonic() > end_s:
                return
            due_ms = clock.next_due_ms()
        if isfinite(target_ms):
            clock.now_ms = max(clock.now_ms, int(target_ms))

    def _target_ms(self) -> float:
        """The lab time that it should be now."""
        if self._rush_until_ms > self.clock.now_ms:
            self._rebase(self._rush_until_ms)
            return self._rush_until_ms
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
        if self._speed >= MAX_SPEED or self._rush_until_ms > self.clock.now_ms:
            return 0.0
        return min((due_ms - self._paced_ms()) / 1000 / self._speed, WAIT_S_MAX)

    def _tell_rushed(self) -> None:
        now_ms = self.clock.now_ms
        over = [done for end_ms, done in self._rushed if end_ms <= now_ms]
        self._rushed = [each for each in self._rushed if each[0] > now_ms]
        for done in over:
            done.set()

    def _do(self, action: Action) -> None:
        """One thing that goes wrong must not end the lab."""
        try:
            action()
        except Exception:
            text = traceback.format_exc()
            if len(self.failures) < FAILURES_KEPT:
                self.failures.append(text)
                print(text, file=sys.stderr, flush=True)


class _Answer:
    """What a question came to, on its way between two threads."""

    def __init__(self) -> None:
        self.found = threading.Event()
        self.value: Any = None
        self.error: Exception | None = None

    def find(self, question: Callable[[], Any]) -> None:
        try:
            self.value = question()
        except Exception as error:
            self.error = error
        self.found.set()
