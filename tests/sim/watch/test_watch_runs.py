"""The watch loop under faults: no violation, and every broken rule is caught."""

import subprocess
import sys
from multiprocessing import get_context

import pytest

from kedge.sim.watch.__main__ import main
from kedge.sim.watch.mutations import MUTATIONS
from kedge.sim.watch.run import RunSettings, crash_sweep, run_seed

SEEDS = range(1001, 1101)
WORDS = {
    "ignore_mode": ("by itself", "without an approval", "to propose"),
    "two_runs": ("begins while", "while"),
    "ignore_health": ("misses replicas", "that is down"),
    "ignore_window": ("outside of",),
    "ignore_budget": ("of the last day", "moves after"),
    "flap": ("within the cool-down",),
    "ignore_foreign_moves": ("is moved",),
    "ignore_other_process": ("another process has the runs",),
    # a start that is tried again breaks whichever rule comes first
    "keep_started": ("to propose", "misses replicas", "has moved", "that is down", "is moved"),
    # two servers that both lead break whichever rule comes first
    "skip_fencing": ("begins while", "of the last day", "moves after", "goes from", "has moved"),
}


def test_no_seed_violates_a_promise() -> None:
    with get_context("spawn").Pool(2) as pool:
        outcomes = pool.map(run_seed, SEEDS, chunksize=5)
    assert not [(outcome.seed, outcome.violation) for outcome in outcomes if outcome.violation]
    seen = sum((outcome.counts for outcome in outcomes[1:]), outcomes[0].counts)
    assert seen["runs begun automatically"] > len(SEEDS)
    assert seen["server dies"] > len(SEEDS)
    assert seen["starts"] > seen["runs begun"], "some starts found the runs locked"
    for kind in ("repair", "fill", "balance", "racks", "leaders"):
        assert seen[f"proposal: {kind} done"] > 0


def test_a_server_may_die_at_every_yield() -> None:
    outcomes = list(crash_sweep(4, RunSettings(rounds=30), every=23))
    assert len(outcomes) > 10
    assert not [(outcome.seed, outcome.violation) for outcome in outcomes if outcome.violation]


def test_every_broken_rule_is_tried() -> None:
    assert set(WORDS) == set(MUTATIONS) - {""}


@pytest.mark.parametrize("rule", sorted(WORDS))
def test_a_broken_rule_is_caught_within_fifty_seeds(rule: str) -> None:
    settings = RunSettings(mutation=rule)
    found = (run_seed(seed, settings).violation for seed in range(1, 51))
    caught = next(words for words in found if words)
    assert any(words in caught for words in WORDS[rule]), caught


def test_a_seed_gives_the_same_run_each_time() -> None:
    traces: list[list[str]] = [[], []]
    for trace in traces:
        run_seed(7, RunSettings(rounds=40), trace.append)
    assert traces[0] == traces[1]
    assert "converged after" in traces[0][-1]


def test_the_command_tells_what_it_has_seen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "3", "--trace"]) == 0
    assert "1 runs" in capsys.readouterr().out
    assert main(["--seed", "1", "--broken", "ignore_mode"]) == 1
    assert "replay it: python -m kedge.sim.watch --seed 1" in capsys.readouterr().out


def test_the_command_runs_seeds_in_processes_of_their_own() -> None:
    command = [sys.executable, "-m", "kedge.sim.watch", "--seeds", "2", "--rounds", "5"]
    done = subprocess.run(
        [*command, "--broken", "flap"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.splitlines()[1].startswith("2 runs"), done
