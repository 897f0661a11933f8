"""A KRaft cluster under faults: no violation, and every broken rule is caught."""

import pytest

from kedge.sim.kraft.__main__ import main
from kedge.sim.kraft.cluster import KraftShape
from kedge.sim.kraft.mutations import RULES
from kedge.sim.kraft.run import KraftSettings, crash_sweep, run_seed

SEEDS = 200
BLOCK = 50
STEPS = 40  # of operations and faults: shorter than those of `make sim-kraft`
WORDS = {
    "vote_twice": ("both lead epoch",),
    "commit_without_majority": ("commits up to",),
    "skip_fsync": ("commits up to", "the epoch of node"),
    "serve_uncommitted": ("is not the replay of the log",),
    "answer_before_commit": ("is committed",),
}


@pytest.mark.parametrize("block", range(SEEDS // BLOCK))
def test_no_seed_violates_an_invariant(block: int) -> None:
    first = 1 + block * BLOCK
    settings = KraftSettings(steps=STEPS)
    outcomes = [run_seed(seed, settings) for seed in range(first, first + BLOCK)]
    assert not [(outcome.seed, outcome.violation) for outcome in outcomes if outcome.violation]
    seen = sum((outcome.counts for outcome in outcomes[1:]), outcomes[0].counts)
    assert seen["commits by a leader"] > 10 * BLOCK
    assert seen["answers"] > 20 * BLOCK
    assert seen["snapshots loaded"] > 0
    assert seen["blocks of producer ids"] > 0
    assert seen["fault: crash at a write"] > BLOCK


def test_a_controller_may_die_at_every_durable_write() -> None:
    outcomes = list(crash_sweep(1, KraftSettings(steps=14)))
    assert len(outcomes) > 40
    assert not [outcome for outcome in outcomes if outcome.violation]


@pytest.mark.parametrize("seed", [24166878, 84979209])
def test_a_partition_without_a_known_leader_is_brought_back_by_an_unclean_election(
    seed: int,
) -> None:
    assert run_seed(seed).violation == ""


def test_every_broken_rule_is_tried() -> None:
    assert set(WORDS) == set(RULES) - {""}


@pytest.mark.parametrize("rule", sorted(WORDS))
def test_a_broken_rule_is_caught_within_fifty_seeds(rule: str) -> None:
    settings = KraftSettings(mutation=rule)
    found = (run_seed(seed, settings).violation for seed in range(1, 51))
    caught = next(words for words in found if words)
    assert any(words in caught for words in WORDS[rule]), caught


def test_a_seed_gives_the_same_run_each_time() -> None:
    traces: list[list[str]] = [[], []]
    for trace in traces:
        run_seed(7, KraftSettings(steps=30, shape=KraftShape(5, 2)), trace.append)
    assert traces[0] == traces[1]
    assert traces[0][-1].split("  ")[-1].startswith("converged after")


def test_the_command_tells_what_it_has_seen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "3", "--trace"]) == 0
    assert "1 runs" in capsys.readouterr().out
    assert main(["--seed", "1", "--broken", "commit_without_majority"]) == 1
    assert "replay it: python -m kedge.sim.kraft --seed 1" in capsys.readouterr().out
