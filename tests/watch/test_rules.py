"""Rules: each one in a situation where it alone stands against a start."""

from dataclasses import replace

import pytest

from kedge.execution.windows import parse_window
from kedge.model import TopicPartition
from kedge.watch.policy import Budget, Kind, Mode, Policy
from kedge.watch.proposals import Approval, Proposal, ProposalState
from kedge.watch.rules import RULES, Situation, spent_in_a_day, why_not
from kedge.watch.samples import Observed
from tests.watch.clusters import GB, NOON, QUICK, TP, change, observed, proposal

APPROVED = Approval("ann", NOON)
AT_ONCE = Approval("ann", NOON, at_once=True)
OTHER = TopicPartition("logs", 0)


def why(
    made: Proposal,
    policy: Policy = QUICK,
    cluster: Observed | None = None,
    *others: Proposal,
) -> str:
    return why_not(made, Situation(policy, cluster or observed(), (made, *others)), RULES)


def ended(
    state: ProposalState = ProposalState.DONE, hours_ago: float = 1.0, **changes: object
) -> Proposal:
    at = NOON - 3600 * hours_ago
    made = proposal(id="earlier", state=state, started_at=at - 60, ended_at=at, changed_at=at)
    return replace(made, **changes)  # pyright: ignore[reportArgumentType]


def test_nothing_stands_against_a_plain_start() -> None:
    assert why(proposal()) == ""


def test_propose_starts_nothing_and_approve_only_what_was_approved() -> None:
    propose, approve = (replace(QUICK, mode=mode) for mode in (Mode.PROPOSE, Mode.APPROVE))
    assert "propose only" in why(proposal(approval=APPROVED), propose)
    assert why(proposal(), approve) == "it needs an approval"
    assert why(proposal(approval=APPROVED), approve) == ""


def test_kinds_outside_of_the_budget_need_an_approval() -> None:
    policy = replace(QUICK, budget=Budget(kinds=frozenset({Kind.REPAIR})))
    assert why(proposal(), policy) == "it needs an approval: the budget has no balance"
    assert why(proposal(approval=APPROVED), policy) == ""


def test_a_prediction_with_problems_is_never_started() -> None:
    made = proposal(approval=AT_ONCE)
    made = replace(made, cost=replace(made.cost, problems=("broker 3 runs out of disk",)))
    assert why(made) == "broker 3 runs out of disk"


def test_one_run_at_a_time() -> None:
    running = ended(ProposalState.RUNNING, id="other", ended_at=None)
    assert why(proposal(approval=AT_ONCE), QUICK, None, running) == "proposal other is running"


def test_a_process_that_has_the_runs_of_the_cluster() -> None:
    made = proposal(approval=AT_ONCE)
    situation = Situation(QUICK, observed(), (made,), other_process=True)
    assert why_not(made, situation, RULES) == "another process acts on the runs of this cluster"


def test_reassignments_of_other_clients() -> None:
    cluster = observed({TP: (1, 2), OTHER: (1, 2, 3)}, adding={OTHER: (3,)})
    assert why(proposal(), QUICK, cluster) == "1 partition is being reassigned (logs-0)"


def test_nothing_starts_while_something_is_wrong_that_the_plan_does_not_mend() -> None:
    cluster = observed({TP: (1, 2), OTHER: (3, 4)}, dead=(4,))
    found = why(proposal(approval=AT_ONCE), QUICK, cluster)
    assert found.startswith("the cluster is not healthy: broker 4 is down")
    repair = proposal(Kind.REPAIR, change((3, 4), (3, 2), OTHER), subject=(4,))
    assert why(repair, QUICK, cluster) == ""


def test_a_plan_that_needs_a_broker_which_is_down() -> None:
    cluster = observed({TP: (1, 2)}, dead=(3,))
    assert why(proposal(), QUICK, cluster) == "broker 3 is down, and the plan puts replicas there"


def test_windows_hold_all_but_an_approval_at_once() -> None:
    policy = replace(QUICK, budget=Budget(windows=(parse_window("13:00-14:00"),)))
    assert why(proposal(), policy) == "outside of window 13:00-14:00[UTC] (opens in 1 h 00 min)"
    assert why(proposal(approval=APPROVED), policy).startswith("outside of window")
    assert why(proposal(approval=AT_ONCE), policy) == ""


@pytest.mark.parametrize(
    ("budget", "earlier_hours", "expected"),
    [
        (Budget(bytes_per_day=9 * GB), 1, "it needs an approval: 10.0 GB are more than the 9.0 GB"),
        (Budget(bytes_per_day=19 * GB), 1, "the budget has 9.0 GB of 19.0 GB bytes a day left"),
        (Budget(bytes_per_day=19 * GB), 25, ""),
        (Budget(bytes_per_day=20 * GB), 1, ""),
        (Budget(moves_per_day=1), 1, "the budget has 0 of 1 moves a day left, and it takes 1"),
        (Budget(moves_per_day=0), 25, "it needs an approval: 1 are more than the 0 a day"),
    ],
)
def test_the_budget_of_any_24_hours(budget: Budget, earlier_hours: float, expected: str) -> None:
    policy, earlier = replace(QUICK, budget=budget), ended(hours_ago=earlier_hours)
    other = replace(earlier, plan=change((3, 4), (1, 4), OTHER))
    found = why(proposal(), policy, None, other)
    assert found.startswith(expected)
    assert bool(found) == bool(expected)
    assert why(proposal(approval=APPROVED), policy, None, other) == ""


def test_a_run_counts_until_a_day_after_its_end_with_what_it_has_copied() -> None:
    long_ago = ended(hours_ago=20, started_at=NOON - 40 * 3600, bytes_copied=7 * GB)
    assert spent_in_a_day([long_ago], NOON).bytes == 7 * GB
    running = ended(ProposalState.RUNNING, ended_at=None, started_at=NOON - 90 * 3600)
    assert spent_in_a_day([running], NOON).bytes == 10 * GB
    never = proposal(state=ProposalState.REJECTED, ended_at=NOON - 60)
    assert spent_in_a_day([never], NOON).bytes == 0


def test_a_move_is_not_undone_within_the_cool_down() -> None:
    there = ended(plan=change((3, 2), (1, 2)))
    assert why(proposal(), QUICK, None, there) == (
        "it needs an approval: it undoes moves of the last 6 h 00 min (1 partition: orders-0)"
    )
    assert why(proposal(approval=APPROVED), QUICK, None, there) == ""
    earlier = ended(hours_ago=7, plan=change((3, 2), (1, 2)))
    assert why(proposal(), QUICK, None, earlier) == ""
    onwards = ended(plan=change((4, 2), (1, 2)))
    assert why(proposal(), QUICK, None, onwards) == ""


def test_after_a_failure_a_person_decides_or_time_passes() -> None:
    failed = ended(ProposalState.FAILED, why="a disk is full", plan=change((4, 2), (1, 2)))
    assert why(proposal(), QUICK, None, failed) == (
        "it needs an approval, or time: proposal earlier has failed (a disk is full)"
    )
    assert why(proposal(approval=APPROVED), QUICK, None, failed) == ""
    assert why(proposal(Kind.FILL), QUICK, None, failed) == ""
    later = replace(failed, id="later", state=ProposalState.DONE, changed_at=NOON - 60)
    assert why(proposal(), QUICK, None, failed, later) == ""
