"""Reads that many ask for at once: those who wait for one that began after they asked share it.

What is answered is never older than the question, however many ask: a page that reads again after a
change sees it, and a hundred pages cost two reads, the one under way and the next. All reads have
one thread, and requests that wait for it hold none: a read that hangs stops no other work.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from starlette.concurrency import run_in_threadpool

from kedge.errors import KedgeError

T = TypeVar("T")
KEPT = 20  # keys whose last read is remembered


@dataclass(frozen=True, slots=True)
class _Read(Generic[T]):
    began: float
    value: T | KedgeError


class SharedReads(Generic[T]):
    """One read at a time; a failure is shared as a value is, or each would wait for its own."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = asyncio.Lock()
        self._reads: OrderedDict[Hashable, _Read[T]] = OrderedDict()

    @property
    def kept(self) -> int:
        """How many reads are remembered."""
        return len(self._reads)

    async def read(self, key: Hashable, read: Callable[[], T]) -> T:
        """What `read` returns for a key, or what it returned to another who asked meanwhile."""
        asked = self._clock()
        async with self._lock:
            known = self._reads.get(key)
            if known is None or known.began < asked:
                began = self._clock()
                known = self._keep(key, _Read(began, await run_in_threadpool(_outcome, read)))
        if isinstance(known.value, KedgeError):
            raise known.value
        return known.value

    def _keep(self, key: Hashable, read: _Read[T]) -> _Read[T]:
        self._reads[key] = read
        self._reads.move_to_end(key)
        if len(self._reads) > KEPT:
            self._reads.popitem(last=False)
        return read


def _outcome(read: Callable[[], T]) -> T | KedgeError:
    try:
        return read()
    except KedgeError as error:
        return error
