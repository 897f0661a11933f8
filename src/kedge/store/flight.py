"""Requests in flight: one wait for thousands of replies, where kazoo would have one for each."""

from __future__ import annotations

import threading
import time
from itertools import chain
from typing import Any

from kedge.errors import StoreUnavailable
from kedge.store.bulk import spread


class Chunk:
    """Replies to requests that were sent together."""

    def __init__(self, forms: list[Any]) -> None:
        self._forms = forms
        self._replies: list[Any] = [None] * len(forms)
        self._missing = len(forms)
        self._complete = threading.Event()

    def take(self, index: int, reply: Any) -> None:
        """Called on kazoo's connection thread, or on ours if kazoo refuses at once."""
        self._replies[index] = reply
        self._missing -= 1
        if self._missing == 0:
            self._complete.set()

    def wait(self, deadline: float) -> list[Any]:
        if self._missing and not self._complete.wait(max(0.0, deadline - time.monotonic())):
            raise StoreUnavailable("the store did not answer in time; the outcome is unknown")
        return list(chain.from_iterable(map(spread, self._forms, self._replies)))


class Slot:
    """The place of one reply; stands where kazoo expects an async result."""

    __slots__ = ("_chunk", "_index")

    def __init__(self, chunk: Chunk, index: int) -> None:
        self._chunk = chunk
        self._index = index

    def set(self, reply: Any) -> None:
        self._chunk.take(self._index, reply)

    def set_exception(self, error: BaseException) -> None:
        self._chunk.take(self._index, error)
