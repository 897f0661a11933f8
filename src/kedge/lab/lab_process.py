"""A lab as a process: dispatches commands of the control socket and ends on signals."""

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
from kedge.lab.control_socket import ControlServer
from kedge.lab.daemon import write_pid
from kedge.lab.lab import Lab
from kedge.lab.lab_dir import LabDir
from kedge.lab.sasl_users import exposure

SWITCH_S = 0.001
YOUNG_MAX, MIDDLE_MAX, OLD_MAX = 10_000, 50, 1_000
COLLECT_EVERY_S = 600.0


def reduce_latency() -> None:
    """Keep compute threads and the garbage collector from delaying the thread that serves clients.

    Threads switch five times as often as by default. A full collection stops every thread for up
    to a second in a large lab and frees almost nothing, so `LabProcess.run` does one every ten
    minutes instead.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_MAX, MIDDLE_MAX, OLD_MAX)


class LabProcess:
    """A running lab that serves commands until it is ended."""

    def __init__(self, lab_dir: LabDir) -> None:
        self.lab = Lab(lab_dir)
        self.ending = threading.Event()

    def start(self) -> dict[str, Any]:
        """Start the lab; returns its addresses and ids."""
        lab_dir = self.lab.lab_dir
        reduce_latency()
        self.lab.start()
        try:
            self._control = ControlServer(lab_dir.control, self._dispatch)
            write_pid(lab_dir.path)
        except BaseException:
            self.lab.stop()
            raise
        return self.about()

    def about(self) -> dict[str, Any]:
        """Addresses, process id, cluster id and warnings."""
        seen = self.lab.status()
        return {
            "bootstrap_servers": self.lab.bootstrap_servers,
            "pid": os.getpid(),
            "cluster_id": self.lab.cluster_id,
            "dir": str(self.lab.lab_dir.path),
            "controller": seen["controller"],
            "warning": exposure(self.lab.settings),
            "brokers": [{key: b[key] for key in ("id", "rack", "port")} for b in seen["brokers"]],
        }

    def handle_signals(self) -> None:
        """End on SIGINT and SIGTERM from now on."""

        def end(_signal: int, _frame: object) -> None:
            self.ending.set()

        for sent in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sent, end)

    def run(self, refresh: Callable[[], None], every_s: float = 1.0) -> None:
        """Serve until the lab is ended; `refresh` is called at every interval."""
        collected_s = time.monotonic()
        try:
            while not self.ending.wait(every_s):
                refresh()
                if time.monotonic() - collected_s > COLLECT_EVERY_S:
                    gc.collect()
                    collected_s = time.monotonic()
        finally:
            self.stop()

    def stop(self) -> None:
        """Stop the control socket and the lab."""
        self._control.stop()
        self.lab.stop()
        (self.lab.lab_dir.path / "lab.pid").unlink(missing_ok=True)

    def _dispatch(self, command: dict[str, Any]) -> object:
        match command.get("do"):
            case "status":
                return {"pid": os.getpid(), **self.lab.status()}
            case "inject":
                return self.lab.inject(str(command["kind"]), *command["arguments"])
            case "fill":
                size_bytes, partition = int(command["bytes"]), command.get("partition")
                return self.lab.fill(command["topic"], size_bytes, partition)
            case "sample":
                out, minutes = Path(command["out"]), int(command["minutes"])
                rows = self.lab.sample_to(out, minutes)
                return {"rows": rows, "out": str(out), "minutes": minutes}
            case "down":
                self.ending.set()
                return os.getpid()
            case other:
                raise InvalidRequest(f"{other!r} is not a command of a lab")
