"""Answers to those who asked: each once, and whatever goes wrong with it is theirs alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Replied = Callable[[Any], None]


def nobody(_answer: Any) -> None:
    """The reply to a question that nobody asked."""


class OnceReply:
    """A caller's callback, called at most once.

    One that raises must not end the loop that serves everybody: the failure is handed on.
    """

    def __init__(self, replied: Replied, failed: Callable[[Exception], None]) -> None:
        self._replied: Replied | None = replied
        self._failed = failed

    def __call__(self, answer: Any) -> None:
        replied, self._replied = self._replied, None
        if replied is not None:
            try:
                replied(answer)
            except Exception as error:
                self._failed(error)
