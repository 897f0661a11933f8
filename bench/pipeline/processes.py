"""CPU seconds and peak memory of processes, read from /proc.

Peak memory of a command is the largest sum of the resident sizes of its processes at one moment;
pages that processes share count in each of them. A process that was forked to run another program
has the whole memory of its parent until it does (`vfork`): that counts once. Peak memory of rounds
is the sum of the largest resident size of each process that is alive.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
SAMPLE_EVERY_S = 0.1
NOTE_EVERY_S = 5
KCMP = {"x86_64": 312, "aarch64": 272}.get(platform.machine())  # the number of the system call
KCMP_VM = 1


@dataclass(frozen=True, slots=True)
class CommandCost:
    """Cost of one run of a command: seconds until it exited, CPU seconds and memory of its tree."""

    wall: float
    cpu: float
    rss_mb: float


def run_measured(
    command: Sequence[str], *, timeout_s: float, environment: Mapping[str, str] | None = None
) -> tuple[str, CommandCost]:
    """Run a command to its end in a new process; return its stdout and its cost.

    The cost includes all descendants, sampled every 0.1 s: a JVM may outlive the process that
    started it, so the counters that the kernel hands to the parent are incomplete.
    """
    ticks, peak_kb = dict[int, int](), 0
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        while process.poll() is None:
            peak_kb = max(peak_kb, _sample_tree(process.pid, ticks, _resident_kb))
            if time.perf_counter() - began > timeout_s:
                raise subprocess.TimeoutExpired(command, timeout_s)
            time.sleep(SAMPLE_EVERY_S)
    finally:
        if process.poll() is None:
            process.kill()
    wall = time.perf_counter() - began
    printed = process.communicate()[0]
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, printed)
    return printed, CommandCost(wall, sum(ticks.values()) / TICKS, peak_kb / 1024)


def _sample_tree(root: int, ticks: dict[int, int], size_kb: Callable[[int, int], int]) -> int:
    """Note the CPU time of each process; returns the sum of their sizes, by pid and parent."""
    sum_kb = 0
    for pid, parent in _descendants(root):
        try:
            ticks[pid] = _ticks(pid)
            sum_kb += size_kb(pid, parent)
        except (OSError, StopIteration):  # it has just ended
            continue
    return sum_kb


def _resident_kb(pid: int, parent: int) -> int:
    return 0 if _has_memory_of(pid, parent) else _status_kb(pid, "VmRSS")


def _has_memory_of(pid: int, parent: int) -> bool:
    """Whether both run in one address space; False if the system does not tell."""
    if KCMP is None:
        return False
    return ctypes.CDLL(None).syscall(KCMP, pid, parent, KCMP_VM, 0, 0) == 0


def _descendants(root: int) -> list[tuple[int, int]]:
    """The processes of a tree with the parent of each; the root comes without."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                children[int(_stat(int(entry.name))[1])].append(int(entry.name))
            except OSError:
                continue
    found = [(root, 0)]
    for pid, _ in found:
        found.extend((child, pid) for child in children[pid])
    return found


def _ticks(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[11]) + int(fields[12])


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the process state on."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def _peak_kb(pid: int, _: int) -> int:
    if pid == os.getpid():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return _status_kb(pid, "VmHWM")


def _status_kb(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def print_rounds(work: Callable[[], None], output: Path, rounds: int) -> None:
    """Run the work `rounds` times, each into an empty directory, and print the cost as JSON.

    The cost is that of this process and its descendants: Spark's JVM, and its workers.
    """
    walls, cpus = list[float](), list[float]()
    with measured_tree(os.getpid()) as tree:
        for _ in range(rounds):
            shutil.rmtree(output, ignore_errors=True)
            output.mkdir(parents=True)
            before, began = tree.cpu_seconds(), time.perf_counter()
            work()
            walls.append(time.perf_counter() - began)
            cpus.append(tree.cpu_seconds() - before)
    cost = {"walls": walls, "cpus": cpus, "rss_mb": tree.peak_kb / 1024}
    sys.stdout.write(json.dumps(cost) + "\n")


class ProcessTree:
    """CPU time of a process and all descendants so far, and the peak of their resident sizes."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._ticks: dict[int, int] = {}
        self.peak_kb = 0

    def cpu_seconds(self) -> float:
        """User and system time until now."""
        self.sample()
        return sum(self._ticks.values()) / TICKS

    def sample(self) -> None:
        """Note the CPU time of each process, and the largest size of each that is alive."""
        self.peak_kb = max(self.peak_kb, _sample_tree(self._root, self._ticks, _peak_kb))


@contextmanager
def measured_tree(root: int) -> Generator[ProcessTree]:
    """Measure a tree of processes until the end of the block.

    Spark ends workers that were idle for a minute, and the kernel hands their CPU time to no
    process: so it is noted every few seconds.
    """
    tree, done = ProcessTree(root), threading.Event()

    def watch() -> None:
        while not done.wait(NOTE_EVERY_S):
            tree.sample()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield tree
    finally:
        done.set()
        watcher.join()
