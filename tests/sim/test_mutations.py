"""A controller that breaks a rule is caught within fifty seeds."""

import pytest

from kedge.sim.mutations import MUTATIONS
from kedge.sim.run import RunSettings, run_seed

WORDS = {
    "elect_outside_isr": ("elected from outside the ISR", "is lost on broker"),
    "forget_removing": ("ended on",),
    "keep_removing": ("removing",),
    "keep_epoch": ("within the leader epoch",),
    "skip_fencing": ("in epoch",),
}


def test_every_broken_rule_is_tried() -> None:
    assert set(WORDS) == set(MUTATIONS) - {""}


@pytest.mark.parametrize("rule", sorted(WORDS))
def test_a_broken_rule_is_caught_within_fifty_seeds(rule: str) -> None:
    settings = RunSettings(mutation=rule)
    found = (run_seed(seed, settings).violation for seed in range(1, 51))
    caught = next(words for words in found if words)
    assert any(words in caught for words in WORDS[rule]), caught
