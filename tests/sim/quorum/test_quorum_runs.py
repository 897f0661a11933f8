"""The quorum under faults: no violation, and every broken rule is caught."""

import pytest

from kedge.sim.quorum.__main__ import main
from kedge.sim.quorum.cluster import QuorumShape
from kedge.sim.quorum.mutations import MUTATIONS
from kedge.sim.quorum.run import RunSettings, crash_sweep, run_seed

SEEDS = range(1, 201)
BLOCK = 50
WORDS = {
    "vote_twice": ("both lead epoch",),
    "commit_without_majority": ("commits up to",),
    "skip_fsync": ("commits up to", "the epoch of node"),
    "read_uncommitted": ("answers a read with",),
    "vote_for_shorter_logs": ("stops:", "delivers", "commits up to"),  # committed records are lost
}


@pytest.mark.parametrize("first", SEEDS[::BLOCK])
def test_no_seed_violates_an_invariant(first: int) -> None:
    outcomes = [run_seed(seed) for seed in range(first, first + BLOCK)]
    assert not [(outcome.seed, outcome.violation) for outcome in outcomes if outcome.violation]
    seen = sum((outcome.counts for outcome in outcomes[1:]), outcomes[0].counts)
    assert seen["commits by a leader"] > 10 * BLOCK
    assert seen["snapshots loaded"] > 0
    assert seen["fault: crash at a write"] > BLOCK


@pytest.mark.parametrize("seed", [1, 93826442])  # alone, the second draws a quorum of one voter
def test_a_node_may_die_at_every_durable_write(seed: int) -> None:
    outcomes = list(crash_sweep(seed, RunSettings(steps=20)))
    assert len(outcomes) > 40
    assert not [outcome for outcome in outcomes if outcome.violation]


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
        run_seed(7, RunSettings(steps=30, shape=QuorumShape(5, 1)), trace.append)
    assert traces[0] == traces[1]
    assert traces[0][-1].split("  ")[-1].startswith("converged after")


def test_the_command_tells_what_it_has_seen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "3", "--trace"]) == 0
    assert "1 runs" in capsys.readouterr().out
    assert main(["--seed", "1", "--broken", "commit_without_majority"]) == 1
    assert "replay it: python -m kedge.sim.quorum --seed 1" in capsys.readouterr().out
