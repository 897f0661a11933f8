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


def test_a_run_that_begins_has_its_rates_at_once(bench: SteeredBench) -> None:
    files = bench.begin(rate=1100)
    bench.throttled_until = -WINDOW_S
    seen = rates_at(bench, 0.5, 13)
    finish_moves_at(bench, 14, 16)
    assert bench.carry_out(files).complete
    assert seen == [1100, 1100]


def test_rates_rise_from_nothing_where_a_throttle_was_in_use_before(bench: SteeredBench) -> None:
    files = bench.begin(rate=1100)
    bench.throttled_until = -5.0
    seen = rates_at(bench, 0.5, 3.5, 6.5, 13)
    finish_moves_at(bench, 14, 16)
    assert bench.carry_out(files).complete
    assert seen[0] == 100
    assert 100 < seen[1] < seen[2] < seen[3] == 1100
    record = files.record()
    assert (record.rate, record.rate_changes) == (1100, ())
    assert not bench.throttles()


def test_a_run_that_was_killed_at_its_rate_goes_on_at_it(bench: SteeredBench) -> None:
    files = bench.begin(rate=1100)
    bench.clock.at(15, die)
    with pytest.raises(Killed):
        bench.carry_out(files)
    seen = rates_at(bench, 16.5)
    finish_moves_at(bench, 18, 20)
    assert bench.carry_out(files).complete
    assert seen == [1100]


def test_rates_rise_in_steps_and_the_last_one_answers_the_request(bench: SteeredBench) -> None:
    files = bench.begin(rate=1000)
    answered: list[list[Reply | None]] = []
    bench.clock.at(20, lambda: sent(files, RequestKind.RATE, rate=2100))
    for moment in (28, 33):
        bench.clock.at(moment, lambda: answered.append(replies(files)))
    seen = rates_at(bench, 19.5, 22.5, 25.5, 33)
    finish_moves_at(bench, 34, 36)
    assert bench.carry_out(files).complete
    assert (seen[0], seen[-1]) == (1000, 2100)
    assert 1000 < seen[1] < seen[2] < 2100
    assert answered == [[None], [Reply()]]
    record = files.record()
    assert (record.rate, [each.rate for each in record.rate_changes]) == (2100, [2100])
    assert not bench.throttles()


def test_steps_are_a_second_apart_however_often_the_cluster_is_read(bench: SteeredBench) -> None:
    files = bench.begin(rate=1000)
    bench.clock.at(20, lambda: sent(files, RequestKind.RATE, rate=2100))
    finish_moves_at(bench, 34, 36)
    assert bench.carry_out(files, interval_s=0.1).complete
    journal = (files.directory / "journal.jsonl").read_text()
    assert journal.count('"event":"rates"') <= 24


def test_a_lower_rate_ends_a_rise_and_is_set_at_once(bench: SteeredBench) -> None:
    files = bench.begin(rate=1000)
    bench.clock.at(20, lambda: sent(files, RequestKind.RATE, rate=2100))
    bench.clock.at(24, lambda: sent(files, RequestKind.RATE, rate=500))
    seen = rates_at(bench, 23.5, 26, 33)
    finish_moves_at(bench, 34, 36)
    assert bench.carry_out(files).complete
    assert seen[0] > 1000
    assert seen[1:] == [500, 500]
    assert replies(files) == [Reply(), Reply()]


def test_a_run_that_ends_while_its_rate_rises_answers_the_request(bench: SteeredBench) -> None:
    files = bench.begin(rate=1000)
    bench.clock.at(20, lambda: sent(files, RequestKind.RATE, rate=2100))
    finish_moves_at(bench, 22, 24)
    assert bench.carry_out(files).complete
    assert replies(files) == [Reply()]
    assert not bench.throttles()


def test_a_run_that_was_killed_while_its_rate_rose_goes_on_at_the_last_rate(
    bench: SteeredBench,
) -> None:
    files = bench.begin(rate=1000)
    bench.clock.at(20, lambda: sent(files, RequestKind.RATE, rate=2100))
    bench.clock.at(24, die)
    with pytest.raises(Killed):
        bench.carry_out(files)
    seen = rates_at(bench, 25, 38)
    finish_moves_at(bench, 39, 41)
    assert bench.carry_out(files).complete
    assert 1000 < seen[0] < seen[1] == 2100
    assert replies(files) == [Reply()]
    assert not bench.throttles()


def test_a_right_that_is_lost_while_the_rate_rises_is_named(bench: SteeredBench) -> None:
    files = bench.begin(rate=1000)
    refused = Unauthorised("Missing permission: AlterConfigs on Cluster")
    bench.clock.at(20, lambda: sent(files, RequestKind.RATE, rate=2100))
    bench.clock.at(24, lambda: bench.faulty.fail("alter_configs", refused, times=1))
    finish_moves_at(bench, 34, 36)
    assert bench.carry_out(files).complete
    (reply,) = replies(files)
    assert reply is not None
    assert "does not raise its throttle further: Missing permission" in reply.refused
