"""Rules: why a proposal may not start now; a sentence each, or nothing.

The rules are a value (`RULES`), so that the simulator can leave one out and see that it is caught.

| rule | |
|---|---|
| mode | `propose` starts nothing, `approve` only what a person has approved |
| problems | the prediction found no reason against it |
| one run | no proposal is running |
| foreign moves | no reassignment is under way |
| health | nothing is wrong that the plan does not mend |
| window | a window of the policy is open, or the approval says at once |
| budget | with its bytes and moves, the last 24 hours stay within the budget |
| reversal | it undoes no move of the loop within the cool-down |
| failure | no run of its kind has failed within the cool-down |
| other process | no other process acts on the runs of the cluster |

Budget, reversal and failure are for runs without an approval: a person may decide otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kedge.execution.health import Health, PartitionHealth, health_of
from kedge.execution.preconditions import counted, named
from kedge.execution.windows import is_open, next_change
from kedge.model import BrokerId, TopicPartition
from kedge.model.amounts import bytes_text, duration_text
from kedge.plan import Change
from kedge.watch.policy import DAY_S, Mode, Policy
from kedge.watch.proposals import Proposal, ProposalState
from kedge.watch.samples import Observed, moving, out_of_sync

_S = ProposalState


@dataclass(frozen=True, slots=True)
class Situation:
    """What a decision to start is made from: the policy, the cluster, and all proposals.

    `other_process` is whether another process acts on the runs of the cluster; this is looked for
    only when nothing else stands against a start.
    """

    policy: Policy
    observed: Observed
    proposals: Sequence[Proposal]
    other_process: bool = False

    @property
    def now(self) -> float:
        """The moment of the sample."""
        return self.observed.at


Rule = Callable[[Proposal, Situation], str]
"""Why a proposal may not start; empty where it may."""


def why_not(proposal: Proposal, situation: Situation, rules: Mapping[str, Rule]) -> str:
    """The first reason against a start; empty where there is none."""
    return next((why for rule in rules.values() if (why := rule(proposal, situation))), "")


# ---- for every run ------------------------------------------------------------------------------


def mode(proposal: Proposal, situation: Situation) -> str:
    """Whether the policy lets it run at all, or without an approval."""
    policy = situation.policy
    if policy.mode is Mode.PROPOSE:
        return "the policy of this cluster is to propose only"
    if proposal.approval is not None:
        return ""
    if policy.mode is Mode.APPROVE:
        return "it needs an approval"
    if proposal.kind not in policy.budget.kinds:
        return f"it needs an approval: the budget has no {proposal.kind}"
    return ""


def problems(proposal: Proposal, situation: Situation) -> str:
    """Whether the prediction found a reason against it."""
    del situation
    return proposal.cost.problems[0] if proposal.cost.problems else ""


def one_run(proposal: Proposal, situation: Situation) -> str:
    """Whether another proposal runs."""
    running = [
        each.id
        for each in situation.proposals
        if each.state is _S.RUNNING and each.id != proposal.id
    ]
    return f"proposal {running[0]} is running" if running else ""


def foreign_moves(proposal: Proposal, situation: Situation) -> str:
    """Whether reassignments are under way that no run of the loop has started."""
    del proposal
    snapshot = situation.observed.snapshot
    rows = np.flatnonzero(moving(snapshot)).tolist()
    if not rows:
        return ""
    found = [snapshot.assignment.key(row) for row in rows]
    verb = "is" if len(found) == 1 else "are"
    return f"{counted(found, 'partition')} {verb} being reassigned ({named(found)})"


def health(proposal: Proposal, situation: Situation) -> str:
    """Whether something is wrong that the plan does not mend."""
    changes = () if proposal.plan is None else proposal.plan.changes
    gone = sorted({b for each in changes for b in each.added} - situation.observed.alive)
    if gone:
        return f"broker {named(gone)} is down, and the plan puts replicas there"
    found = health_outside(proposal.partitions, situation.observed)
    return f"the cluster is not healthy: {'; '.join(found.problems)}" if found.problems else ""


def health_outside(inside: Iterable[TopicPartition], observed: Observed) -> Health:
    """The health of the partitions that a proposal does not touch."""
    snapshot, within = observed.snapshot, frozenset(inside)
    assignment, hosts = snapshot.assignment, dict[TopicPartition, tuple[BrokerId, ...]]()
    short, _ = out_of_sync(snapshot)
    dead = np.array([b.id for b in snapshot.brokers if not b.state.stays], np.int32)
    suspect = short | np.isin(assignment.replicas, dead).any(axis=1)
    found: list[PartitionHealth] = []
    for row in np.flatnonzero(suspect).tolist():
        tp = assignment.key(row)
        if tp in within:
            continue
        hosts[tp] = assignment.replicas_of(row)
        found.append(
            PartitionHealth(tp, hosts[tp], _ids(snapshot.isr[row]), _ids(snapshot.adding[row]))
        )
    return health_of(found, observed.alive, observed.min_isr, observed.offline_log_dirs)


def _ids(row: Iterable[int]) -> tuple[BrokerId, ...]:
    return tuple(BrokerId(int(each)) for each in row if each >= 0)


def window(proposal: Proposal, situation: Situation) -> str:
    """Whether a window is open."""
    windows, now = situation.policy.budget.windows, situation.now
    if is_open(windows, now) or (proposal.approval is not None and proposal.approval.at_once):
        return ""
    opens = next_change(windows, now)
    after = f" (opens in {duration_text(opens - now)})" if opens is not None else ""
    return f"outside of window {', '.join(map(str, windows))}{after}"


def other_process(proposal: Proposal, situation: Situation) -> str:
    """Whether a command or a job acts on the runs; its run may be paused, and move nothing."""
    del proposal
    return "another process acts on the runs of this cluster" if situation.other_process else ""


# ---- for runs without an approval ---------------------------------------------------------------


def budget(proposal: Proposal, situation: Situation) -> str:
    """Whether bytes and moves of any 24 hours stay within the budget."""
    if proposal.approval is not None:
        return ""
    allowed, spent = situation.policy.budget, spent_in_a_day(situation.proposals, situation.now)
    for what, most, used, cost, text in (
        ("bytes", allowed.bytes_per_day, spent.bytes, proposal.cost.bytes, bytes_text),
        ("moves", allowed.moves_per_day, spent.moves, proposal.cost.moves, str),
    ):
        if most is not None and cost > most:
            return f"it needs an approval: {text(cost)} are more than the {text(most)} a day"
        if most is not None and used + cost > most:
            left = f"{text(max(most - used, 0))} of {text(most)} {what} a day left"
            return f"the budget has {left}, and it takes {text(cost)}"
    return ""


@dataclass(frozen=True, slots=True)
class Spent:
    """What runs of the loop have taken of the budget."""

    bytes: int = 0
    moves: int = 0


def spent_in_a_day(proposals: Iterable[Proposal], now: float) -> Spent:
    """What runs have taken of the last 24 hours.

    A run counts from its start to 24 hours after its end, since it may copy at any time between.
    """
    counted_in = [
        each
        for each in proposals
        if each.started_at is not None and (each.ended_at is None or each.ended_at > now - DAY_S)
    ]
    return Spent(
        sum(each.bytes_charged for each in counted_in), sum(each.cost.moves for each in counted_in)
    )


def reversal(proposal: Proposal, situation: Situation) -> str:
    """Whether it undoes a move that the loop made within the cool-down."""
    if proposal.approval is not None or proposal.plan is None:
        return ""
    made = moves_within(situation.proposals, situation.now, situation.policy.cool_down_s)
    undone = sorted({c.tp for c in proposal.plan.changes for one in made if reverses(c, one)})
    if not undone:
        return ""
    cool_down = duration_text(situation.policy.cool_down_s)
    return (
        f"it needs an approval: it undoes moves of the last {cool_down} "
        f"({counted(undone, 'partition')}: {named(undone)})"
    )


def reverses(later: Change, earlier: Change) -> bool:
    """Whether a change brings a replica back to a broker that the earlier one took it from."""
    return later.tp == earlier.tp and not frozenset(later.added).isdisjoint(earlier.removed)


def moves_within(proposals: Iterable[Proposal], now: float, cool_down_s: float) -> list[Change]:
    """The changes of runs that have ended within the cool-down, or not at all."""
    return [
        change
        for each in proposals
        if each.plan is not None and each.started_at is not None
        if each.ended_at is None or each.ended_at > now - cool_down_s
        for change in each.plan.changes
    ]


def failure(proposal: Proposal, situation: Situation) -> str:
    """Whether a run of this kind has failed within the cool-down, and none went well since."""
    if proposal.approval is not None:
        return ""
    ended = [
        each
        for each in situation.proposals
        if each.kind is proposal.kind and each.state in (_S.DONE, _S.FAILED)
    ]
    last = max(ended, key=lambda each: each.changed_at, default=None)
    if last is None or last.state is _S.DONE:
        return ""
    if last.changed_at <= situation.now - situation.policy.cool_down_s:
        return ""
    return f"it needs an approval, or time: proposal {last.id} has failed ({last.why})"


RULES: dict[str, Rule] = {
    "mode": mode,
    "problems": problems,
    "one_run": one_run,
    "foreign_moves": foreign_moves,
    "health": health,
    "window": window,
    "budget": budget,
    "reversal": reversal,
    "failure": failure,
    "other_process": other_process,
}
