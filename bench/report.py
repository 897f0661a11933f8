"""Results of benchmarks, and their form on a terminal and in docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

HEADING = """# Benchmarks

Written by `make bench`. Each ratio is within one run on one machine, and times are those of the
best of several rounds, on both sides.
"""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call, over several rounds."""

    median: float
    best: float


@dataclass(frozen=True, slots=True)
class BenchRow:
    """One measurement, with the peer or the lower bound measured in the same run."""

    what: str
    ours: Timing
    peer: str  # the name of the peer: Kafka's method, a plain copy, …
    theirs: Timing
    note: str = ""
    unit: str = "s"  # or % of an error, or the name of a unit that figures are shown in

    @property
    def ratio(self) -> float:
        """The peer's time divided by Kedge's, of the best rounds: other load on the machine
        distorts medians more, and not of both alike."""
        return self.theirs.best / self.ours.best


@dataclass(frozen=True, slots=True)
class BenchSection:
    """A group of rows with a heading; `about` and `notes` are Markdown."""

    name: str
    title: str
    about: str
    rows: tuple[BenchRow, ...]
    notes: tuple[str, ...] = ()
    measured: str = "its time"  # what the column of the peer has


def _timing(seconds: list[float]) -> Timing:
    return Timing(sorted(seconds)[len(seconds) // 2], min(seconds))


def measure(call: Callable[[], object], *, rounds: int = 15, calls: int = 1) -> Timing:
    """Time a call after one warm-up call: compilation and caching are not counted."""
    call()
    times: list[float] = []
    for _ in range(rounds):
        before = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - before) / calls)
    return _timing(times)


def readable(seconds: float) -> str:
    """A duration with three significant digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def machine() -> str:
    """Cores, versions of Python and libraries, and the Java version."""
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "([^"]+)"', java.stderr)
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "pyarrow"))
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, "
        f"{libraries}, Java {found.group(1) if found else 'absent'}"
    )


def as_markdown(section: BenchSection) -> str:
    """The section as Markdown."""
    lines = [f"## {section.title}", "", section.about, ""]
    lines += [f"| what | Kedge | peer | {section.measured} | ratio |", "|---|---:|---|---:|---:|"]
    lines += [_markdown_row(row) for row in section.rows]
    lines += ["", *(f"- {note}" for note in section.notes), f"- Measured on {machine()}."]
    return "\n".join(lines)


def _markdown_row(row: BenchRow) -> str:
    what = f"{row.what} ({row.note})" if row.note else row.what
    ours, theirs = _figure(row, row.ours), _figure(row, row.theirs)
    return f"| {what} | {ours} | {row.peer} | {theirs} | {_ratio(row.ratio)} |"


def _figure(row: BenchRow, timing: Timing) -> str:
    if row.unit == "s":
        return readable(timing.best)
    return f"{100 * timing.best:.3g} %" if row.unit == "%" else f"{timing.best:.3g} {row.unit}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.0f}×" if ratio >= 10 else f"{ratio:.2g}×"


def as_text(section: BenchSection) -> str:
    """The section for a terminal."""
    lines = [section.title]
    for row in section.rows:
        ours, theirs = _figure(row, row.ours), _figure(row, row.theirs)
        lines.append(f"  {row.what:<48} {ours:>9}   {theirs:>9} {row.peer}   {_ratio(row.ratio)}")
    return "\n".join([*lines, *(f"  {note}" for note in section.notes)])


def updated(page: str, section: BenchSection) -> str:
    """The page with this section replaced, or added at the end."""
    begin, end = (f"<!-- bench:{section.name}:{side} -->" for side in ("begin", "end"))
    piece = f"{begin}\n{as_markdown(section)}\n{end}"
    before, marker, rest = (page or HEADING).partition(begin)
    if not marker:
        return f"{before.rstrip()}\n\n{piece}\n"
    return before + piece + rest.partition(end)[2]
