"""A throttle that is raised in steps while a run is at work."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.apply import RunFiles
from kedge.errors import Unauthorised
from kedge.execution import Reply, RequestKind
from kedge.execution.rate_rise import WINDOW_S
from tests.apply.bench import Killed, die
from tests.apply.steered_bench import SteeredBench, sent


@pytest.fixture
def bench(tmp_path: Path) -> SteeredBench:
    bench = SteeredBench(tmp_path)
    bench.rise_s = WINDOW_S
    return bench


def finish_moves_at(bench: SteeredBench, *moments: float) -> None:
    for moment in moments:
        bench.clock.at(moment, bench.cluster.finish_moves)


def rates_at(bench: SteeredBench, *moments: float) -> list[int]:
    """The rates that brokers have at these moments, once the run has ended."""
    found: list[int] = []

    def read() -> None:
        (rate,) = bench.rates()
        found.append(int(rate))

    for moment in moments:
        bench.clock.at(moment, read)
    return found


def replies(files: RunFiles) -> list[Reply | None]:
    return list(files.record().replies.values())


def test_rates_rise_in_steps_and_the_last_one_answers_the_request(bench: SteeredBench) -> None:
    files = bench.begin(rate=1000)
    answered: list[list[Reply | None]] = []
    bench.clock.at(2, lambda: sent(files, RequestKind.RATE, rate=2100))
    for moment in (10, 15):
        bench.clock.at(moment, lambda: answered.append(replies(files)))
    seen = rates_at(bench, 1.5, 4.5, 7.5, 15)
    finish_moves_at(bench, 16, 18)
    assert bench.carry_out(files).complete
    assert (seen[0], seen[-1]) == (1000, 2100)
    assert 1000 < seen[1] < seen[2] < 2100
    assert answered == [[None], [Reply()]]
    record = files.record()
    assert (record.rate, [each.rate for each in record.rate_changes]) == (2100, [2100])
    assert not bench.throttles()


def test_steps_are_a_second_apart_however_often_the_cluster_is_read(bench: SteeredBench) -> None:
    files = bench.begin(rate=1000)
    bench.clock.at(2, lambda: sent(files, RequestKind.RATE, rate=2100))
    finish_moves_at(bench, 16, 18)
    assert bench.carry_out(files, interval_s=0.1).complete
    journal = (files.directory / "journal.jsonl").read_text()
    assert journal.count('"event":"rates"') <= 12


def test_a_lower_rate_ends_a_rise_and_is_set_at_once(bench: SteeredBench) -> None:
    files = bench.begin(rate=1000)
    bench.clock.at(2, lambda: sent(files, RequestKind.RATE, rate=2100))
    bench.clock.at(6, lambda: sent(files, RequestKind.RATE, rate=500))
    seen = rates_at(bench, 5.5, 8, 15)
    finish_moves_at(bench, 16, 18)
    assert bench.carry_out(files).complete
    assert seen[0] > 1000
    assert seen[1:] == [500, 500]
    assert replies(files) == [Reply(), Reply()]


def test_a_run_that_ends_while_its_rate_rises_answers_the_request(bench: SteeredBench) -> None:
    files = bench.begin(rate=1000)
    bench.clock.at(2, lambda: sent(files, RequestKind.RATE, rate=2100))
    finish_moves_at(bench, 4, 6)
    assert bench.carry_out(files).complete
    assert replies(files) == [Reply()]
    assert not bench.throttles()


def test_a_run_that_was_killed_while_its_rate_rose_goes_on_at_the_last_rate(
    bench: SteeredBench,
) -> None:
    files = bench.begin(rate=1000)
    bench.clock.at(2, lambda: sent(files, RequestKind.RATE, rate=2100))
    bench.clock.at(6, die)
    with pytest.raises(Killed):
        bench.carry_out(files)
    seen = rates_at(bench, 9)
    finish_moves_at(bench, 10, 12)
    assert bench.carry_out(files).complete
    assert seen == [2100]
    assert replies(files) == [Reply()]
    assert not bench.throttles()


def test_a_right_that_is_lost_while_the_rate_rises_is_named(bench: SteeredBench) -> None:
    files = bench.begin(rate=1000)
    refused = Unauthorised("Missing permission: AlterConfigs on Cluster")
    bench.clock.at(2, lambda: sent(files, RequestKind.RATE, rate=2100))
    bench.clock.at(6, lambda: bench.faulty.fail("alter_configs", refused, times=1))
    finish_moves_at(bench, 16, 18)
    assert bench.carry_out(files).complete
    (reply,) = replies(files)
    assert reply is not None
    assert "does not raise its throttle further: Missing permission" in reply.refused
