"""`kedge serve` over 200 brokers and 40,000 partitions: the page in a real browser, and the server.

A lab, the server and Chromium are a process each. Times are the browser's own: from the navigation
to the frame that shows every broker and partition, and from an input to the next frame (Event
Timing, as the metric INP has it). The peer of each row is the limit that it is held to.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.report import BenchRow, BenchSection, Timing
from bench.serve.browser import PageTimes, page_times
from bench.serve.processes import BROKERS, PARTITIONS, large_lab, served
from bench.serve.watchers import cpu_share_of_watchers

FIRST_PAINT_S, INTERACTION_S, MEMORY_MB, CORES = 2.0, 0.1, 600.0, 1.0
WATCHERS, WATCHED_S = 50, 30.0


def run() -> BenchSection:
    """Open the page, use it, then let many clients watch a run."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        large_lab(Path(scratch)) as bootstrap,
        served(bootstrap, Path(scratch)) as server,
    ):
        times = page_times(server.url, server.token)
        share = cpu_share_of_watchers(server, WATCHERS, WATCHED_S)
        memory_mb = server.peak_memory_mb()
    rows = (
        *_page_rows(times),
        _row("memory of the server, at its peak", [memory_mb], MEMORY_MB, "MB"),
        _row(f"CPU of the server, {WATCHERS} clients watch a run", [share], CORES, "cores"),
    )
    return BenchSection(
        "serve",
        "Pages of `kedge serve`",
        f"A lab of {BROKERS} brokers and {PARTITIONS:,} partitions, the server and Chromium "
        "(without a GPU) on one machine. Best of several rounds; the notes have the medians.",
        rows,
        notes=(
            f"Medians: first paint {times.first_paint.median:.2f} s, "
            + ", ".join(f"{name} {1000 * t.median:.0f} ms" for name, t in times.inputs.items()),
            f"Watchers: {WATCHERS} event streams of one run, and each reads the run every 4 s.",
        ),
        measured="limit",
    )


def _page_rows(times: PageTimes) -> list[BenchRow]:
    limit = Timing(FIRST_PAINT_S, FIRST_PAINT_S)
    rows = [BenchRow("cluster page, until all is shown", times.first_paint, "limit", limit)]
    fast = Timing(INTERACTION_S, INTERACTION_S)
    return [*rows, *(BenchRow(name, took, "limit", fast) for name, took in times.inputs.items())]


def _row(what: str, values: list[float], limit: float, unit: str) -> BenchRow:
    best = min(values)
    return BenchRow(what, Timing(best, best), "limit", Timing(limit, limit), unit=unit)
