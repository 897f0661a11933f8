"""What a process has cost so far: CPU seconds and the greatest resident size."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of processes."""
    return sum(_ticks(pid) for pid in pids) / TICKS


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def peak_mb(pids: Iterable[int]) -> float:
    """The greatest resident sizes of processes, added up."""
    return sum(_peak_kb(pid) for pid in pids) / 1024


def _peak_kb(pid: int) -> int:
    if pid == os.getpid():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def tell_rounds(work: Callable[[], None], output: Path, rounds: int, pids: Iterable[int]) -> None:
    """Do the work so many times, each into an empty directory, and print its cost as JSON."""
    every = [*pids]
    walls, cpus = list[float](), list[float]()
    for _ in range(rounds):
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir(parents=True)
        before, began = cpu_seconds(every), time.perf_counter()
        work()
        walls.append(time.perf_counter() - began)
        cpus.append(cpu_seconds(every) - before)
    cost = {"walls": walls, "cpus": cpus, "rss_mb": peak_mb(every)}
    sys.stdout.write(json.dumps(cost) + "\n")
