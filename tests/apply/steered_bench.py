"""A bench with a clock that the test moves, for runs that are steered."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kedge.apply import Outcome, Pacing, RunFiles, RunOptions, new_request, preview
from kedge.apply.executor import Executor
from kedge.execution import Limits, Request, RequestKind, RunState, Steering, request_line
from kedge.execution import journal as lines
from kedge.execution.adaptive_throttle import Signals
from tests.apply.bench import Bench

NOON = 1_790_000_000 - 1_790_000_000 % 86_400 + 12 * 3600  # of some day, UTC


class Clock:
    """Time that passes when a run sleeps; what a test has planned happens then."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.events: list[tuple[float, Callable[[], object]]] = []

    def at(self, seconds: float, event: Callable[[], object]) -> None:
        self.events.append((seconds, event))
        self.events.sort(key=lambda each: each[0])

    def sleep(self, seconds: float) -> None:
        end = self.seconds + max(seconds, 0.01)
        while self.events and self.events[0][0] <= end:
            self.seconds = max(self.seconds, self.events[0][0])
            self.events.pop(0)[1]()
        self.seconds = max(end, self.seconds)
        assert self.seconds < 200_000, "the run never ends"


class SteeredBench(Bench):
    """A bench with a clock, and runs that are begun with a steering."""

    def __init__(self, state: Path) -> None:
        super().__init__(state)
        self.clock = Clock()
        self.seen: list[tuple[float, str, int, bool]] = []
        self.states: list[tuple[float, RunState]] = []  # as a run reports them
        self.speed = 1.0  # of the cluster's time
        self.rise_s = 0.0  # higher rates are set at once, as in a lab
        self.throttled_until = -math.inf
        self.more_signals: Callable[[Signals], Signals] = lambda signals: signals

    def steered(self, steering: Steering, rate: int | None = 1000) -> RunFiles:
        files = self.begin(rate=rate)
        record = files.record()
        journal = files.directory / "journal.jsonl"
        journal.unlink()
        files.write(lines.begun(replace(record, steering=steering)))
        return files

    def pacing_by_clock(self, interval_s: float = 1.0) -> Pacing:
        return Pacing(
            interval_s=interval_s,
            rise_s=self.rise_s,
            throttled_until=self.throttled_until,
            sleep=self.clock.sleep,
            clock=lambda: self.clock.seconds,
            speed=self.speed,
            now=lambda: NOON + self.clock.seconds,
            on_state=lambda state: self.states.append((self.clock.seconds, state)),
            on_progress=self.progress.append,
            on_note=self.notes.append,
            more_signals=self.more_signals,
        )

    def carry_out(self, files: RunFiles, interval_s: float = 1.0) -> Outcome:
        record = files.record()
        options = RunOptions(
            Limits(record.rate, record.each_way), ignore_health=False, steering=record.steering
        )
        judged = preview(self.cluster, files.plan(), options, own=self.runs.own_settings())
        pacing = self.pacing_by_clock(interval_s)
        return Executor(self.faulty.port, files, judged, pacing).carry_out()

    def watch(self, files: RunFiles, *moments: float) -> None:
        """Note state, moves and throttles at these moments."""
        for moment in moments:
            self.clock.at(moment, lambda m=moment: self.seen.append(self._now(files, m)))

    def _now(self, files: RunFiles, moment: float) -> tuple[float, str, int, bool]:
        moving = len(self.cluster.reassignments())
        return moment, files.record().state.value, moving, bool(self.throttles())

    def rates(self) -> set[str]:
        return {v for configs in self.throttles().brokers.values() for v in configs.values()}


def sent(
    files: RunFiles,
    kind: RequestKind,
    *,
    rate: int | None = None,
    log_dir_rate: int | None = None,
) -> Request:
    request = new_request(kind, rate=rate, log_dir_rate=log_dir_rate)
    files.send_request(request_line(request))
    return request
