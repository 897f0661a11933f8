"""A lab as a process: what it is told, and how it ends."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kedge.errors import InvalidRequest
from kedge.lab.control import ControlServer
from kedge.lab.folder import LabFolder
from kedge.lab.lab import Lab
from kedge.lab.process_id import write_pid


class LabProcess:
    """A running lab that takes orders until it is told to end."""

    def __init__(self, folder: LabFolder) -> None:
        self.lab = Lab(folder)
        self.ending = threading.Event()

    def start(self) -> dict[str, Any]:
        """Start, and say where everything is."""
        folder = self.lab.folder
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
        try:
            while not self.ending.wait(every_s):
                look()
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
                raise InvalidRequest(f"{other!r} is no order")
