"""Kill -9 at every journal point of apply on a lab, and then resume, cancel and rollback.

The process that dies is simulated: after the point at which it is killed, every use of the cluster,
of the journal and of the log fails, so that nothing more of it reaches the lab. The points are
counted in a run that is not killed. Time is the lab's, run forward as the process waits.
Processes that are really killed are in `test_killed_processes`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, cast

import pytest

from kedge.apply import Pacing, RunFiles, RunOptions, Runs, RunStore
from kedge.apply.cluster_runs import ClusterRuns
from kedge.apply.ownership import Timing
from kedge.cluster.access import PLAIN_ACCESS
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.lab_log import LabLog
from kedge.cluster.log_port import FencedLog, LogEntry
from kedge.cluster.port import Cluster
from kedge.errors import RefusedCommand
from kedge.execution import Limits, RunState
from kedge.lab import Lab
from tests.apply.kill_checks import (
    BROKERS,
    BYSTANDER,
    Expected,
    Start,
    create_topics,
    throttle_by_others,
)
from tests.apply.run_commands import Command, Desk
from tests.lab.labs import running

PARTITION_BYTES, RATE = 1_000_000, 2_000_000
OTHER = "other"
CHANGES = ("alter_configs", "alter_reassignments", "alter_log_dirs", "elect_leaders")


class Killed(BaseException):
    """The process dies here."""


@dataclass
class Life:
    """A process that is killed right after a point, if at all."""

    ends_after: int | None = None
    passed: int = 0
    is_over: bool = False

    def do(self, action: Callable[[], Any], *, is_point: bool) -> Any:
        if self.is_over:
            raise Killed
        done = action()
        self.passed += is_point
        if is_point and self.passed == self.ends_after:
            self.is_over = True
            raise Killed
        return done


class MortalCluster:
    """The cluster as a process uses it."""

    def __init__(self, cluster: Cluster, life: Life) -> None:
        self._cluster, self._life = cluster, life

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            is_point = name in CHANGES and not options.get("validate_only")
            method = getattr(self._cluster, name)
            return self._life.do(lambda: method(*args, **options), is_point=is_point)

        return call


class MortalLog:
    """The log of runs as a process uses it; a lease that is only renewed is no point."""

    def __init__(self, log: LabLog, life: Life) -> None:
        self._log, self._life = log, life

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._log, name)
        if not callable(found):
            return found
        return lambda *args: self._life.do(lambda: found(*args), is_point=name == "become_writer")

    def append(self, entries: list[LogEntry]) -> int:
        return self._life.do(lambda: self._log.append(entries), is_point=len(entries) > 1)


class MortalRuns(Runs):
    """Runs in a directory as a process uses them."""

    def __init__(self, state: Path, cluster_id: str, life: Life) -> None:
        super().__init__(state, cluster_id)
        self._life = life

    def files(self, directory: Path) -> RunFiles:
        return MortalFiles(directory, life=self._life)


@dataclass(frozen=True)
class MortalFiles(RunFiles):
    life: Life = field(kw_only=True, compare=False)

    def begin(self, line: bytes) -> None:
        self.life.do(lambda: RunFiles.begin(self, line), is_point=True)

    def write(self, line: bytes) -> None:
        self.life.do(lambda: RunFiles.write(self, line), is_point=True)


@dataclass
class Bench:
    """A lab, and where the runs of its processes are kept."""

    lab: Lab
    admin: KafkaAdmin
    state: Path | None  # None: in the lab
    opened: ExitStack

    def runs(self, life: Life) -> RunStore:
        if self.state is not None:
            return MortalRuns(self.state, self.lab.cluster_id, life)
        log = LabLog(self.lab.bootstrap_servers, PLAIN_ACCESS)
        self.opened.callback(log.close)
        timing = Timing(lease_s=0.05, renew_s=1e6, poll_s=0.01)
        mortal = cast("FencedLog", MortalLog(log, life))
        return ClusterRuns(mortal, self.lab.cluster_id, timing=timing)

    def process(self, life: Life) -> Desk:
        pacing = Pacing(
            sleep=lambda seconds: self.lab.fast_forward(seconds / 60),
            clock=lambda: self.lab.cluster.clock.now_ms / 1000,
        )
        options = RunOptions(Limits(RATE, each_way=2))
        cluster = cast("Cluster", MortalCluster(self.admin, life))
        return Desk(cluster, self.runs(life), pacing, options)

    def new_topic(self, name: str) -> Start:
        create_topics(self.admin, name)
        self.lab.fill(name, PARTITION_BYTES)
        return Start.of(self.admin, name, OTHER)


@contextmanager
def opened_bench(state: Path | None) -> Generator[Bench]:
    with running(brokers=len(BROKERS), first_id=1) as (lab, admin):
        create_topics(admin, "first", OTHER)
        admin.delete_topics(["first"])
        throttle_by_others(admin, (BYSTANDER,), OTHER)
        with ExitStack() as opened:
            yield Bench(lab, admin, state, opened)


def points_of_apply(bench: Bench) -> int:
    """How many points a run passes that is not killed."""
    start, life = bench.new_topic("whole"), Life()
    bench.process(life).apply(start.plan)
    start.check(bench.admin, bench.runs(Life()), RunState.DONE)
    bench.admin.delete_topics(["whole"])
    assert life.passed >= 15
    return life.passed


@pytest.mark.parametrize("command", Command)
def test_apply_killed_at_every_point_with_runs_in_the_lab(command: Command) -> None:
    with opened_bench(None) as bench:
        for point in range(1, points_of_apply(bench) + 1):
            check_death(bench, point, command)


def test_apply_killed_at_every_point_with_runs_in_a_directory(tmp_path: Path) -> None:
    commands = cycle(Command)  # every command after every point is in tests/apply
    with opened_bench(tmp_path) as bench:
        for point in range(1, points_of_apply(bench) + 1):
            check_death(bench, point, next(commands))


def check_death(bench: Bench, point: int, command: Command) -> None:
    """A run of its own that is killed after a point, and then a command."""
    start = bench.new_topic(f"killed-{point}")
    with pytest.raises(Killed):
        bench.process(Life(ends_after=point)).apply(start.plan)
    try:
        check(bench, command, start)
    except BaseException as fault:
        fault.add_note(f"apply killed after point {point}, then {command}")
        raise
    bench.admin.delete_topics([start.topics[0]])
    bench.opened.close()


def check(bench: Bench, command: Command, start: Start) -> None:
    """Give a command after a death, and check what it does."""
    runs = bench.runs(Life())
    latest = runs.chosen(None)
    if latest.plan() != start.plan:
        start.check_way_back(bench.admin)  # killed before the run had begun
        return
    expected, refused = Expected.of(command, runs), None
    try:
        bench.process(Life()).do(command)
    except RefusedCommand as refusal:
        refused = refusal
    expected.check(start, bench.admin, bench.runs(Life()), refused)
