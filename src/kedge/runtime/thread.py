"""Runs the loop on its own thread."""

from __future__ import annotations

import threading

from kedge.controller.events import Event, Started
from kedge.runtime.loop import Loop, Replied

_WAIT_S = 0.5  # maximum delay of a timer while no event arrives


class LoopThread:
    """Runs a loop until it is stopped.

    with LoopThread(loop) as controller:
        controller.put(ElectionRequested(...), print)
    """

    def __init__(self, loop: Loop, *, name: str = "controller") -> None:
        self.loop = loop
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> LoopThread:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the thread, and run for the role."""
        self.loop.put(Started())
        self._thread.start()

    def put(self, event: Event, replied: Replied | None = None) -> None:
        """Queue an event from any thread."""
        self.loop.put(event, replied)

    def stop(self) -> None:
        """Stop the loop after the current event; the session ends with the role."""
        self._stopping.set()
        self.loop.wake()
        self._thread.join()
        self.loop.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            if not self.loop.step():
                self.loop.wait(_WAIT_S)
