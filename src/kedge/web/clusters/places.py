"""How many requests may hold a thread for one cluster at a time.

A request to a cluster that does not answer holds its thread until the client's time is over. All
requests share the threads of the server, so that each cluster gets places for so many of them;
further requests are refused at once, and those to other clusters find a thread.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import BoundedSemaphore

from kedge.errors import TooManyRequests

AT_WORK = 8
WAITING = 8
HELD = AT_WORK + WAITING  # the threads that requests to one cluster may hold
WAIT_S = 20.0


class Places:
    """The places of one cluster."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._held, self._working = BoundedSemaphore(HELD), BoundedSemaphore(AT_WORK)

    @contextmanager
    def held(self) -> Generator[None]:
        """A thread that is held during a `with` block, or a refusal at once."""
        if not self._held.acquire(blocking=False):
            raise self._refusal()
        try:
            yield
        finally:
            self._held.release()

    @contextmanager
    def working(self) -> Generator[None]:
        """The same, for work at the cluster: so many at once, the others wait."""
        with self.held():
            if not self._working.acquire(timeout=WAIT_S):
                raise self._refusal()
            try:
                yield
            finally:
                self._working.release()

    def _refusal(self) -> TooManyRequests:
        return TooManyRequests(
            f"Too many requests to the cluster {self._name} at once", hint="send it again later"
        )
