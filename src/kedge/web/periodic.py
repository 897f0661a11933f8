"""Work that a server repeats on a thread of its own, until it is stopped."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread

log = logging.getLogger("kedge.web")


class PeriodicTask:
    """A thread that does its work every so many seconds; a fault is logged, and ends nothing."""

    def __init__(
        self, name: str, every_s: float, work: Callable[[], object], *, at_once: bool = False
    ) -> None:
        """`at_once` does the work for the first time as soon as the thread has begun."""
        self._name, self._every_s, self._work = name, every_s, work
        self._pause_s = 0.0 if at_once else every_s
        self._stopping = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the work that it is at."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._pause_s):
            self._pause_s = self._every_s
            try:
                self._work()
            except Exception:
                log.exception("%s failed; next try in %g s", self._name, self._every_s)
