"""`python -m tests.lab.killed_apply LINES WORDS…`: kedge, killed by SIGKILL after a line.

The command is the real one, with `--state cluster` on a lab, in a process of its own; it kills
itself right after so many lines of its journal were written.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence

from kedge import wiring
from kedge.cli.app import run
from kedge.cluster.lab_log import LabLog
from kedge.cluster.log_port import FencedLog, LogEntry
from kedge.cluster.port import Cluster

left = int(sys.argv[1])


def line_written() -> None:
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)


class KilledLog(LabLog):
    def append(self, entries: Sequence[LogEntry]) -> int:
        last = super().append(entries)
        if any(entry.key.startswith("line/") for entry in entries):
            line_written()
        return last


def open_log(_cluster: Cluster, bootstrap: str, settings: Mapping[str, str]) -> FencedLog:
    from kedge.cluster.access import access_from

    return KilledLog(bootstrap, access_from(settings))


def main() -> None:
    with wiring.logs_from(open_log):
        sys.exit(run(sys.argv[2:]))


if __name__ == "__main__":
    main()
