"""`kedge status --watch` while the cluster does not answer, and after the process of a run died."""

from __future__ import annotations

import pytest

from kedge.apply.run_port import OwnerSeen
from kedge.apply.run_status import RunStatus
from kedge.cli.options import Output
from kedge.cli.watch import SILENT_S, WatchClock, watch_run
from kedge.errors import ClusterUnavailable
from kedge.execution import Observation, RunRecord, RunState, Work


def status(
    state: RunState, owner: OwnerSeen | None = None, *, has_process: bool | None = None
) -> RunStatus:
    seen = Observation(frozenset(), {}, {}, {})
    work = Work({}, (), ())
    record = RunRecord("c", state=state)
    return RunStatus("r1", record, state, (), {}, seen, work, owner, has_process=has_process)


class Time:
    """A clock that a sleep advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    @property
    def clock(self) -> WatchClock:
        return WatchClock(lambda: self.now, self.sleep)


def test_a_watch_asks_again_while_the_cluster_does_not_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failures = 3

    def read() -> RunStatus:
        nonlocal failures
        if failures:
            failures -= 1
            raise ClusterUnavailable("no broker reached")
        return status(RunState.DONE)

    watch_run(read, 1.0, Output.TABLE, Time().clock)
    shown = capsys.readouterr()
    assert shown.out.startswith("run r1 (apply): done")
    assert shown.err.splitlines() == [
        "note: no response from the cluster (no broker reached); retrying"
    ]


def test_a_watch_ends_once_the_lease_of_the_run_is_not_renewed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    time = Time()

    def read() -> RunStatus:
        renewed_at = min(time.now, 100.0)  # the process dies then
        return status(RunState.MOVING, OwnerSeen("desk:17", renewed_at))

    watch_run(read, 1.0, Output.TABLE, time.clock)
    assert time.now == pytest.approx(100.0 + SILENT_S)
    shown = capsys.readouterr()
    assert "run r1 (apply): moving" in shown.out
    assert shown.err.splitlines()[-1] == (
        "note: desk:17 has not renewed its lease for 60 s: no process is at work on run r1; "
        "continue it with kedge resume, or end it with kedge cancel"
    )


def test_a_watch_ends_once_no_process_acts_on_runs_whose_owner_is_not_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    time = Time()

    def read() -> RunStatus:
        absent = 10.0 <= time.now < 40.0 or time.now >= 100.0  # it was resumed in between
        return status(RunState.MOVING, has_process=not absent)

    watch_run(read, 1.0, Output.TABLE, time.clock)
    assert time.now == pytest.approx(99.0 + SILENT_S)
    shown = capsys.readouterr()
    assert "run r1 (apply): moving" in shown.out
    assert shown.err.splitlines()[-1] == (
        "note: no process has been at work on run r1 for 60 s; "
        "continue it with kedge resume, or end it with kedge cancel"
    )


def test_a_watch_goes_on_where_it_is_not_known_whether_a_process_acts() -> None:
    time = Time()

    def read() -> RunStatus:
        ended = time.now >= 10 * SILENT_S
        return status(RunState.DONE if ended else RunState.MOVING)

    watch_run(read, 1.0, Output.TABLE, time.clock)
    assert time.now == pytest.approx(10 * SILENT_S)
