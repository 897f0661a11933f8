"""A lab as a process: what it is told, and how it ends."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kedge.errors import InvalidRequest
from kedge.lab.control import ControlServer
from kedge.lab.folder import LabFolder
from kedge.lab.lab import Lab
from kedge.lab.process_id import write_pid
from kedge.lab.users import exposure

SWITCH_S = 0.001
YOUNG_MAX, MIDDLE_MAX, OLD_MAX = 10_000, 50, 1_000
COLLECT_EVERY_S = 600.0


def answer_promptly() -> None:
    """Keep threads that compute from delaying the one that serves clients.

    They hand the interpreter over five times as often as by default. A full collection of cycles
    stops every thread for up to a second in a large lab and finds next to nothing: only
    `run` does one, now and then.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_MAX, MIDDLE_MAX, OLD_MAX)


class LabProcess:
    """A running lab that takes orders until it is told to end."""

    def __init__(self, folder: LabFolder) -> None:
        self.lab = Lab(folder)
        self.ending = threading.Event()

    def start(self) -> dict[str, Any]:
        """Start, and say where everything is."""
        folder = self.lab.folder
        answer_promptly()
        self.lab.start()
        try:
            self._control = ControlServer(folder.control, self._carry_out)
            write_pid(folder.path)
        except BaseException:
            self.lab.stop()
            raise
        return self.about()

    def about(self) -> dict[str, Any]:
        """Where everything is."""
        seen = self.lab.status()
        return {
            "bootstrap_servers": self.lab.bootstrap_servers,
            "pid": os.getpid(),
            "cluster_id": self.lab.cluster_id,
            "dir": str(self.lab.folder.path),
            "controller": seen["controller"],
            "warning": exposure(self.lab.settings),
            "brokers": [{key: b[key] for key in ("id", "rack", "port")} for b in seen["brokers"]],
        }

    def obey_signals(self) -> None:
        """End when the terminal or the system says so, from now on."""

        def end(_signal: int, _frame: object) -> None:
            self.ending.set()

        for sent in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sent, end)

    def run(self, look: Callable[[], None], every_s: float = 1.0) -> None:
        """Until somebody ends it; `look` is called now and then."""
        collected_s = time.monotonic()
        try:
            while not self.ending.wait(every_s):
                look()
                if time.monotonic() - collected_s > COLLECT_EVERY_S:
                    gc.collect()
                    collected_s = time.monotonic()
        finally:
            self.stop()

    def stop(self) -> None:
        """End everything."""
        self._control.stop()
        self.lab.stop()
        (self.lab.folder.path / "lab.pid").unlink(missing_ok=True)

    # ---- orders ----

    def _carry_out(self, order: dict[str, Any]) -> object:
        match order.get("do"):
            case "status":
                return {"pid": os.getpid(), **self.lab.status()}
            case "inject":
                return self.lab.inject(str(order["kind"]), *order["arguments"])
            case "fill":
                return self.lab.fill(order["topic"], int(order["bytes"]), order.get("partition"))
            case "sample":
                out, minutes = Path(order["out"]), int(order["minutes"])
                rows = self.lab.sample_to(out, minutes)
                return {"rows": rows, "out": str(out), "minutes": minutes}
            case "down":
                self.ending.set()
                return os.getpid()
            case other:
                raise InvalidRequest(f"{other!r} is not a command of a lab")
