"""The states of a proposal: the table, the picture of it, and what a person may do."""

from dataclasses import replace
from pathlib import Path

import pytest

from kedge.errors import RefusedCommand
from kedge.watch.findings import Finding, FindingKind
from kedge.watch.policy import Kind
from kedge.watch.proposals import ENDED, MAY_FOLLOW, Proposal, ProposalState, approve, reject
from kedge.watch.samples import sample_of
from kedge.watch.staleness import expired, stale
from kedge.watch.storage import (
    finding_from_json,
    finding_to_json,
    proposal_from_json,
    proposal_to_json,
    sample_from_json,
    sample_to_json,
)
from tests.watch.clusters import GB, NOON, QUICK, TP, ids, observed, proposal

PAGE = Path(__file__).parents[2] / "docs/concepts/watch.md"
IMBALANCE = Finding(FindingKind.IMBALANCE, NOON, "The disk of broker 1 is 50% above the mean")
DOWN = Finding(FindingKind.BROKER_DOWN, NOON, "Broker 4 is down", (4,))


def test_the_picture_shows_every_legal_change() -> None:
    moves = [
        f"    {before.value} --> {after.value}"
        for before in ProposalState
        for after in ProposalState
        if after in MAY_FOLLOW[before]
    ]
    drawn = "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> open", *moves, "```"])
    after_mark = PAGE.read_text("utf-8").partition("<!-- proposal states -->\n")[2]
    assert after_mark.startswith(drawn + "\n")


def test_a_change_that_the_table_does_not_allow_is_a_fault() -> None:
    for before in ProposalState:
        for after in ProposalState:
            made = proposal(state=before)
            if after in MAY_FOLLOW[before]:
                changed = made.in_state(after, NOON + 5, "why")
                assert (changed.version, changed.changed_at) == (2, NOON + 5)
                assert (changed.ended_at is not None) == (after in ENDED)
            else:
                with pytest.raises(AssertionError):
                    made.in_state(after, NOON)


def test_a_person_approves_and_rejects_what_is_open() -> None:
    approved = approve(proposal(), "ann", NOON + 60, at_once=True)
    assert approved.state is ProposalState.APPROVED
    assert approved.approval is not None
    assert (approved.approval.by, approved.approval.at_once) == ("ann", True)
    rejected = reject(approved, "ben", NOON + 90, "  not this week ")
    assert (rejected.state, rejected.why, rejected.by) == ("rejected", "not this week", "ben")


@pytest.mark.parametrize("state", sorted({*ENDED, ProposalState.RUNNING}))
def test_what_has_ended_or_runs_cannot_be_decided_on(state: ProposalState) -> None:
    with pytest.raises(RefusedCommand, match=f"is {state} and cannot be approved"):
        approve(proposal(state=state), "ann", NOON)
    with pytest.raises(RefusedCommand, match=f"is {state} and cannot be rejected"):
        reject(proposal(state=state), "ann", NOON, "no")


def test_a_rejection_needs_a_reason_and_problems_cannot_be_approved() -> None:
    with pytest.raises(RefusedCommand, match="needs a reason"):
        reject(proposal(), "ann", NOON, " ")
    bad = proposal()
    bad = replace(bad, cost=replace(bad.cost, problems=("a disk fills up",)))
    with pytest.raises(RefusedCommand, match="cannot run: a disk fills up"):
        approve(bad, "ann", NOON)


# ---- staleness ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cluster", "findings", "expected"),
    [
        (observed(), (IMBALANCE,), ""),
        (observed(), (), "what it was made for is no longer found"),
        (observed({TP: (2, 1)}), (IMBALANCE,), "1 partition has changed since it was made"),
        (observed({TP._replace(topic="logs"): (1, 2)}), (IMBALANCE,), "1 partition has changed"),
        (observed(brokers=(1, 2, 3, 4, 5)), (IMBALANCE,), "1 broker (5) joined since it was made"),
        (observed(dead=(4,)), (IMBALANCE,), ""),
        (observed(dead=(4,)), (IMBALANCE, DOWN), "1 broker (4) left since it was made"),
        (observed(brokers=(1, 2, 3)), (IMBALANCE,), "1 broker (4) left since it was made"),
        (observed(size=13 * GB), (IMBALANCE,), "it would copy 13.0 GB by now; 10.0 GB were"),
    ],
)
def test_a_proposal_is_stale_when_the_cluster_has_changed(
    cluster: object, findings: tuple[Finding, ...], expected: str
) -> None:
    found = stale(proposal(), cluster, findings)  # pyright: ignore[reportArgumentType]
    assert found.startswith(expected)
    assert bool(found) == bool(expected)


def test_a_repair_is_stale_when_another_broker_goes_down_for_good() -> None:
    repair = proposal(Kind.REPAIR, subject=(4,), alive=frozenset(ids(1, 2, 3)))
    assert stale(repair, observed(dead=(4,)), [DOWN]) == ""
    both = replace(DOWN, brokers=(3, 4))
    assert stale(repair, observed(dead=(3, 4)), [both]) == "by now brokers 3, 4 are down"


def test_a_proposal_expires() -> None:
    assert expired(proposal(), QUICK, NOON + QUICK.expires_s - 1) == ""
    assert expired(proposal(), QUICK, NOON + QUICK.expires_s) != ""


# ---- storage ------------------------------------------------------------------------------------


def test_what_a_database_keeps_comes_back_as_it_was() -> None:
    made: list[Proposal] = [
        proposal(),
        approve(proposal(), "ann", NOON, at_once=True),
        proposal(Kind.LEADERS, plan=None, elect=(TP,)),
        proposal(state=ProposalState.DONE, bytes_copied=3, ended_at=NOON),
    ]
    made[2] = replace(made[2], plan=None)
    for each in made:
        assert proposal_from_json(proposal_to_json(each)) == each
    assert finding_from_json(finding_to_json(DOWN)) == DOWN
    sample = sample_of(observed(dead=(4,)))
    assert sample_from_json(sample_to_json(sample)) == sample
