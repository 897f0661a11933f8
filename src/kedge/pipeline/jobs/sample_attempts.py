"""Samples that are taken one after the other: one that fails is missed, and the next one follows.

A cluster that is sampled for hours has moments in which a broker restarts or a request times out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kedge.errors import KedgeError, Unavailable

T = TypeVar("T")
Missed = Callable[[KedgeError], None]


@dataclass(slots=True)
class SampleAttempts:
    """Counts the samples that were taken and missed."""

    missed: Missed
    taken: int = 0
    failed: int = 0
    _last: KedgeError | None = None

    @property
    def count(self) -> int:
        """The samples that were tried."""
        return self.taken + self.failed

    def attempt(self, take: Callable[[], T]) -> T | None:
        """Take one sample; None where it is missed."""
        try:
            sample = take()
        except KedgeError as error:
            self.failed, self._last = self.failed + 1, error
            self.missed(error)
            return None
        self.taken += 1
        return sample

    def finish(self) -> int:
        """The number of samples taken; an error where there was none among those tried."""
        if self._last is not None and not self.taken:
            what = f"none of {self.failed} samples was taken: {self._last.what}"
            raise Unavailable(what, hint=self._last.hint) from self._last
        return self.taken
