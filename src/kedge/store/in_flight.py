"""Waits once for the replies to thousands of requests, where kazoo waits for each."""

from __future__ import annotations

import threading
import time
from itertools import chain
from typing import Any

from kedge.errors import StoreUnavailable
from kedge.store.multi_read import split_replies


class Chunk:
    """The replies to requests that were sent together."""

    def __init__(self, requests: list[Any]) -> None:
        self._requests = requests
        self._replies: list[Any] = [None] * len(requests)
        self._missing = len(requests)
        self._all_received = threading.Event()

    def complete(self, index: int, reply: Any) -> None:
        """Store a reply; kazoo calls it on its connection thread, or at once on an error."""
        self._replies[index] = reply
        self._missing -= 1
        if self._missing == 0:
            self._all_received.set()

    def wait(self, deadline: float) -> list[Any]:
        if self._missing and not self._all_received.wait(max(0.0, deadline - time.monotonic())):
            raise StoreUnavailable("the store did not answer in time; the outcome is unknown")
        return list(chain.from_iterable(map(split_replies, self._requests, self._replies)))


class PendingReply:
    """One pending reply; kazoo uses it as an async result."""

    __slots__ = ("_chunk", "_index")

    def __init__(self, chunk: Chunk, index: int) -> None:
        self._chunk = chunk
        self._index = index

    def set(self, reply: Any) -> None:
        self._chunk.complete(self._index, reply)

    def set_exception(self, error: BaseException) -> None:
        self._chunk.complete(self._index, error)
