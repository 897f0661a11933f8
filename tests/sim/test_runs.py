"""Whole runs: no rule is broken, and a seed is the whole input."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kedge.sim.__main__ import EXIT_BROKEN_PIPE, main
from kedge.sim.fault_injection import NO_FAULTS
from kedge.sim.report import replay_command
from kedge.sim.run import RunSettings, run_seed

SEEDS = Path(__file__).with_name("seeds.txt")


def seeds_that_once_failed() -> list[int]:
    lines = SEEDS.read_text().splitlines()
    return [int(line.split()[0]) for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("seed", seeds_that_once_failed())
def test_a_seed_that_once_failed_does_not_fail_again(seed: int) -> None:
    assert run_seed(seed).violation == ""


@pytest.mark.parametrize("seed", range(9001, 9016))
def test_a_run_breaks_no_rule_and_settles(seed: int) -> None:
    outcome = run_seed(seed)
    assert outcome.violation == ""
    assert outcome.coverage.faults
    assert outcome.coverage.counts["records acknowledged"]


def test_without_faults_every_order_is_answered() -> None:
    outcome = run_seed(5, RunSettings(faults=NO_FAULTS))
    assert outcome.violation == ""
    assert outcome.coverage.counts["move: no answer"] == 0
    assert not outcome.coverage.crashes


def trace_of(seed: int, hash_seed: str) -> str:
    command = [sys.executable, "-m", "kedge.sim", "--seed", str(seed), "--trace"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    return done.stdout


def test_a_trace_whose_reader_ends_early_ends_without_a_message() -> None:
    command = [sys.executable, "-m", "kedge.sim", "--seed", "3", "--trace"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        assert run.stdout.readline() == b"seed 3\n"
        run.stdout.close()
        assert run.stderr.read() == b""
        assert run.wait(timeout=120) == EXIT_BROKEN_PIPE


def test_a_seed_is_the_whole_input() -> None:
    first, second = trace_of(3, "1"), trace_of(3, "2")
    assert first == second
    assert first.startswith("seed 3\n")
    assert "faults stop" in first


def test_a_failure_prints_the_command_that_replays_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "1", "--broken", "keep_epoch"]) == 1
    told = capsys.readouterr().out
    assert told.startswith("seed 1\n")
    assert "replay it: python -m kedge.sim --seed 1 --trace --broken keep_epoch\n" in told
    assert "controllers killed" in told


@pytest.mark.parametrize(
    ("settings", "command"),
    [
        (RunSettings(), "make sim SEED=7"),
        (RunSettings(steps=9), "python -m kedge.sim --seed 7 --trace --steps 9"),
        (
            RunSettings(steps=9, mutation="keep_epoch"),
            "python -m kedge.sim --seed 7 --trace --steps 9 --broken keep_epoch",
        ),
    ],
)
def test_the_command_that_replays_a_run_has_its_options(
    settings: RunSettings, command: str
) -> None:
    assert replay_command(7, settings) == command


def test_a_drawn_first_seed_is_printed_before_anything_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn: set[str] = set()
    for _ in range(2):
        assert main(["--seeds", "0", "--first-seed", "random", "--no-sweep"]) == 0
        told = capsys.readouterr().out
        drawn.add(told.splitlines()[0])
        assert "0 runs, 0.0 simulated hours, 0 violations" in told
    assert len(drawn) == 2
    assert all(line.startswith("seeds ") for line in drawn)


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ([], "--seeds 200 --first-seed random"),
        (["SEEDS=50"], "--seeds 50 --first-seed 1"),
        (["SEEDS=50", "FIRST=7"], "--seeds 50 --first-seed 7"),
        (["SEED=7"], "--seed 7 --trace"),
    ],
)
def test_make_sim_draws_its_first_seed_unless_it_is_given_how_many(
    given: list[str], options: str
) -> None:
    command = ["make", "--dry-run", "sim", *given]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    said = " ".join(done.stdout.replace("\\\n", " ").split())
    assert f"-m kedge.sim {options}" in said
