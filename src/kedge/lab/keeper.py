"""Writes down what is on the disks, every second or so, on a thread of its own."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

from kedge.errors import KedgeError, MalformedInput
from kedge.files import read_bytes, said_of
from kedge.lab.directories import Directories
from kedge.lab.keeping import FORMAT, as_json, read_rows, restore
from kedge.lab.private_files import write_private
from kedge.lab.traffic import Traffic
from kedge.lab.world import LabWorld

EVERY_S = 1.0
SHARE_OF_TIME = 20  # a large lab is written down less often: at most this part of the time


class Keeper:
    """Keeps one file up to date."""

    def __init__(
        self, world: LabWorld, path: Path, traffic: Traffic, directories: Directories
    ) -> None:
        self._world = world
        self._path = path
        self._traffic = traffic
        self._directories = directories
        self.fault = ""  # why the last attempt to write failed
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lab-keeper", daemon=True)

    # ---- reading ----

    @staticmethod
    def read(path: Path) -> dict[str, Any]:
        """What was written down; nothing where nothing was."""
        if not path.exists():
            return {}
        with said_of(path):
            try:
                found: Any = json.loads(read_bytes(path))
            except ValueError as fault:
                raise MalformedInput("this is no list of logs", hint="remove the file") from fault
            if not isinstance(found, dict) or found.get("format") != FORMAT:  # pyright: ignore[reportUnknownMemberType]
                raise MalformedInput("logs of another version", hint="name another directory")
            return found  # pyright: ignore[reportUnknownVariableType]

    def load(self, kept: dict[str, Any]) -> None:
        """Fill the disks again."""
        if kept:
            with said_of(self._path):
                restore(self._world, read_rows(kept.get("logs", [])))
                self._traffic.load(kept.get("pending", []))
                self._directories.load(kept.get("futures", []))

    # ---- writing ----

    def save(self) -> None:
        """Write everything down now."""
        content = self._world.engine.ask(self._content)
        write_private(self._path, json.dumps(content, separators=(",", ":")).encode())

    def save_if_possible(self) -> None:
        """Write everything down; a disk that is full is noted, and the next second is another
        try."""
        try:
            self.save()
            self.fault = ""
        except KedgeError as fault:
            self.fault = str(fault)

    def _content(self) -> dict[str, Any]:
        extra = {"pending": self._traffic.as_json(), "futures": self._directories.as_json()}
        return as_json(self._world, extra)

    def start(self) -> None:
        """Begin to look after the file."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause_s = EVERY_S
        while not self._stopping.wait(pause_s):
            began_s = time.monotonic()
            self._world.ensemble.failure()  # a journal that could not be written is tried again
            self.save_if_possible()
            pause_s = max(EVERY_S, SHARE_OF_TIME * (time.monotonic() - began_s))
