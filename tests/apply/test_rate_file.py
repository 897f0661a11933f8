"""The file of rates that runs have measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kedge.apply import Pacing, Run
from kedge.apply.rate_file import (
    KEPT,
    RATES,
    keep_rates,
    learning_rates,
    measured_rates,
    rates_path,
)
from kedge.errors import RunFailed
from kedge.execution import MoveStatus, Work
from kedge.execution.prediction import Rates
from kedge.execution.prediction.learned_rates import (
    ENOUGH,
    Draw,
    RateRecord,
    drawn_factors,
    learned_rates,
)
from kedge.execution.progress import Copies
from kedge.model import BrokerId
from kedge.plan import Change
from tests.apply.bench import T0, Bench

MB = 1_000_000
B1, B4 = BrokerId(1), BrokerId(4)


def observed(second: int) -> Work:
    """A copy from broker 1 to broker 4 at 40 MB/s."""
    copy = Copies(Change(T0, (B1,), (B4,)), 1000 * MB, {B4: (second + 1) * 40 * MB}, {})
    return Work({T0: MoveStatus.MOVING}, [copy], (), {T0: B1})


def carried_out(
    bench: Bench, run: Run, end: Callable[[], None] = lambda: None
) -> tuple[list[Work], list[RateRecord]]:
    """What a run of six seconds passes on, and what is kept of it."""
    seconds = iter(range(100))
    passed_on: list[Work] = []
    pacing = Pacing(
        clock=lambda: float(next(seconds)), now=lambda: 1000.0, on_work=passed_on.append
    )
    try:
        with learning_rates(bench.runs, pacing) as measured:
            measured.on_run(run)
            for second in range(6):
                measured.on_work(observed(second))
            end()
    finally:
        found = measured_rates(Path(bench.runs.place).parent, "memory")
    return passed_on, found


def test_what_a_run_measures_is_beside_the_runs_of_its_cluster(bench: Bench) -> None:
    passed_on, found = carried_out(bench, bench.begin(rate=None))
    assert len(passed_on) == 6
    assert found == [RateRecord(1000.0, 40.0 * MB)]
    assert rates_path(bench.runs) == Path(bench.runs.place) / RATES
    assert len(carried_out(bench, bench.begin(rate=None))[1]) == 2


def test_a_run_that_fails_keeps_what_it_has_measured(bench: Bench) -> None:
    def fail() -> None:
        raise RunFailed("The run failed")

    with pytest.raises(RunFailed):
        carried_out(bench, bench.begin(rate=None), fail)
    assert measured_rates(Path(bench.runs.place).parent, "memory") == [RateRecord(1000.0, 4e7)]


def test_a_run_whose_throttle_is_the_limit_keeps_nothing(bench: Bench) -> None:
    assert carried_out(bench, bench.begin(rate=42 * MB))[1] == []
    assert not rates_path(bench.runs).exists()


def test_the_newest_records_stay(tmp_path: Path) -> None:
    path = tmp_path / "c" / RATES
    for number in range(KEPT + 3):
        keep_rates(path, RateRecord(float(number), 1e6 + number, None))
    found = measured_rates(tmp_path, "c")
    assert [record.at for record in found] == [float(each) for each in range(3, KEPT + 3)]
    assert [each.name for each in path.parent.iterdir()] == [RATES]


def test_a_file_that_is_damaged_is_started_anew_and_a_cut_line_is_left_out(tmp_path: Path) -> None:
    path, record = tmp_path / RATES, RateRecord(1.0, 2e6, 3e6)
    path.write_bytes(b"nonsense\n")
    keep_rates(path, record)
    path.write_bytes(path.read_bytes() + b'{"at":2.0,"netw')
    keep_rates(path, replace(record, at=3.0))
    assert path.read_bytes().splitlines() == [
        b'{"at":1.0,"network":2000000.0,"disk":3000000.0}',
        b'{"at":3.0,"network":2000000.0,"disk":3000000.0}',
    ]


def test_a_file_that_cannot_be_written_is_a_note_and_no_failure(bench: Bench) -> None:
    run, notes, seconds = bench.begin(rate=None), list[str](), iter(range(100))
    rates_path(bench.runs).mkdir()
    pacing = Pacing(clock=lambda: float(next(seconds)), on_note=notes.append)
    with learning_rates(bench.runs, pacing) as measured:
        measured.on_run(run)
        for second in range(6):
            measured.on_work(observed(second))
    assert len(notes) == 1
    assert notes[0].startswith("measured rates are not kept: ")


def test_rates_that_were_measured_often_enough_replace_the_assumed_ones() -> None:
    few = [RateRecord(0.0, 300.0 * MB)] * (ENOUGH - 1)
    assert learned_rates(few, Rates(1e9, 2e8)) == Rates(1e9, 2e8)
    enough = [RateRecord(0.0, rate * MB) for rate in (100, 200, 300, 400, 500)]
    # what came over a link was written to a disk
    assert learned_rates(enough, Rates(1e9, 2e8)) == Rates(3e8, 3e8)
    assert learned_rates(enough, Rates(1e9, 9e8)) == Rates(3e8, 9e8)
    with_disks = [replace(each, disk=1e8) for each in enough]
    assert learned_rates(with_disks, Rates(1e9, 2e8)) == Rates(3e8, 1e8)
    factors = drawn_factors([Draw(0.1, 0.9)], enough)
    assert factors[0][:2] == (1 / 3, 1 / 3)
