"""The controller is killed at every yield of every script, and the cluster recovers each time."""

import pytest

from kedge.sim.crash_sweep import SCENARIOS, Scenario, sweep


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_controller_killed_at_any_yield_leaves_nothing_broken(scenario: Scenario) -> None:
    crash_runs = list(sweep(scenario))
    broken = {f"{k.at} {k.after_effect} {k.place}": k.violation for k in crash_runs if k.violation}
    assert broken == {}
    # both sweeps end because the script ends, and not before they have begun
    assert [k.place for k in crash_runs].count("") == 2
    assert len(crash_runs) > 4
