"""The promises of the loop, checked at every beginning of a run, move, copy and stored proposal.

The checkers count for themselves: what was copied when comes from the simulated cluster, not from
the proposals, and a run is compared with the cluster as it truly was at the sample it came from.
"""

from __future__ import annotations

from collections import Counter

from kedge.errors import InvariantViolated
from kedge.execution.windows import is_open
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change
from kedge.sim.watch.cluster import SimCluster, SimRun, Truth
from kedge.watch.policy import DAY_S, Mode, Policy
from kedge.watch.proposals import MAY_FOLLOW, Proposal, ProposalState

_S = ProposalState


class Checkers:
    """What has been seen so far, and the rules about it."""

    def __init__(self, cluster: SimCluster) -> None:
        self._cluster = cluster
        self.checks: Counter[str] = Counter()
        self._copied: list[tuple[float, float, bool]] = []  # when, bytes, automatic
        self._moves: list[tuple[float, int]] = []
        self._left: dict[tuple[TopicPartition, BrokerId], float] = {}  # when a replica was removed
        cluster.on_move = self.on_move
        cluster.on_copied = self.on_copied
        cluster.on_moved = self.on_moved

    # ---- proposals ------------------------------------------------------------------------------

    def on_proposal(self, old: Proposal | None, new: Proposal) -> None:
        """A proposal is stored: its state follows the one before, and it stays what it was."""
        self.checks[f"proposal: {new.kind} {new.state}"] += 1
        if old is None:
            if new.state is not _S.OPEN:
                raise InvariantViolated(f"{new.id} begins {new.state}")
            return
        if new.state not in MAY_FOLLOW[old.state]:
            raise InvariantViolated(f"{new.id} goes from {old.state} to {new.state}")
        if (new.plan, new.elect) != (old.plan, old.elect):
            raise InvariantViolated(f"the plan of {new.id} has changed")
        if new.state is _S.APPROVED and old.state is _S.OPEN and new.approval is None:
            raise InvariantViolated(f"{new.id} is approved by no person")

    # ---- the beginning of a run -----------------------------------------------------------------

    def on_start(self, proposal: Proposal, other_process: bool) -> None:
        """A proposal is stored as running, and its run begins unless the runs are locked."""
        self.checks["starts"] += 1
        if other_process:
            raise InvariantViolated(f"{proposal.id} starts though another process has the runs")

    def on_begin(self, proposal: Proposal, policy: Policy, truth: Truth) -> None:
        """A run begins, by the policy that its script has read and the sample that it took."""
        self.checks["runs begun"] += 1
        automatic = proposal.approval is None
        self._check_alone(proposal)
        self._check_mode(proposal, policy, automatic)
        self._check_fits(proposal, truth)
        self._check_health(proposal, truth)
        if automatic or (proposal.approval is not None and not proposal.approval.at_once):
            self._check_window(proposal, policy)
        if automatic:
            self._check_budget(proposal, policy)
            self._check_flapping(proposal, policy)

    def _check_alone(self, proposal: Proposal) -> None:
        others = [id_ for id_, run in self._cluster.runs.items() if not run.ended]
        if others:
            raise InvariantViolated(f"{proposal.id} begins while {others[0]} runs")

    def _check_mode(self, proposal: Proposal, policy: Policy, automatic: bool) -> None:
        self.checks["runs begun automatically"] += automatic
        if policy.mode is Mode.PROPOSE:
            raise InvariantViolated(f"{proposal.id} runs though the policy is to propose")
        if automatic and policy.mode is not Mode.AUTO:
            raise InvariantViolated(f"{proposal.id} runs without an approval")
        if automatic and proposal.kind not in policy.budget.kinds:
            raise InvariantViolated(f"{proposal.kind} runs by itself and is not in the budget")

    def _check_fits(self, proposal: Proposal, truth: Truth) -> None:
        for change in proposal.plan.changes if proposal.plan else ():
            if truth.replicas.get(change.tp) != change.before:
                raise InvariantViolated(f"{proposal.id} runs though {change.tp} has moved")
            if not truth.alive.issuperset(change.added):
                raise InvariantViolated(f"{proposal.id} moves {change.tp} to a broker that is down")

    def _check_health(self, proposal: Proposal, truth: Truth) -> None:
        outside = sorted(truth.missing - proposal.partitions)
        if outside:
            raise InvariantViolated(f"{proposal.id} runs though {outside[0]} misses replicas")
        if truth.moving:
            raise InvariantViolated(f"{proposal.id} runs while {min(truth.moving)} is moved")

    def _check_window(self, proposal: Proposal, policy: Policy) -> None:
        started = proposal.started_at or 0.0
        if not is_open(policy.budget.windows, started):
            raise InvariantViolated(f"{proposal.id} starts outside of its window")

    def _check_budget(self, proposal: Proposal, policy: Policy) -> None:
        changes = proposal.plan.changes if proposal.plan else []
        size = {tp: each.size for tp, each in self._cluster.partitions.items()}
        now, since = self._cluster.now, self._cluster.now - DAY_S
        takes = sum(size[change.tp] * len(change.added) for change in changes)
        spent = sum(copied for at, copied, _ in self._copied if at > since)
        most = policy.budget.bytes_per_day
        grown = 1.001 * takes  # partitions grow between the sample and the beginning
        if most is not None and spent + takes > most + (grown - takes) + 1:
            raise InvariantViolated(
                f"{proposal.id} copies {takes:.0f} bytes after {spent:.0f} of the last day, "
                f"the budget is {most}, at {now:.0f}"
            )
        moves = sum(count for at, count in self._moves if at > since)
        wanted = sum(len(change.added) for change in changes)
        limit = policy.budget.moves_per_day
        if limit is not None and moves + wanted > limit:
            raise InvariantViolated(f"{proposal.id} makes {wanted} moves after {moves} of {limit}")

    def _check_flapping(self, proposal: Proposal, policy: Policy) -> None:
        for change in proposal.plan.changes if proposal.plan else ():
            for broker in change.added:
                left = self._left.get((change.tp, broker))
                if left is not None and left > self._cluster.now - policy.cool_down_s:
                    raise InvariantViolated(
                        f"{proposal.id} brings {change.tp} back to broker {broker} within the "
                        "cool-down"
                    )

    # ---- while a run is at work -----------------------------------------------------------------

    def on_move(self, run: SimRun, change: Change) -> None:
        """A move starts."""
        self.checks["moves started"] += 1
        if run.windows_hold and not is_open(run.policy.budget.windows, self._cluster.now):
            raise InvariantViolated(f"{change.tp} starts to move outside of the window")

    def on_copied(self, run: SimRun, copied: float) -> None:
        """Bytes are copied: those of a day stay within the budget of the run."""
        automatic = run.proposal.approval is None
        self._copied.append((self._cluster.now, copied, automatic))
        most = run.policy.budget.bytes_per_day
        if not automatic or most is None:
            return
        since = self._cluster.now - DAY_S
        spent = sum(each for at, each, by_itself in self._copied if at > since and by_itself)
        if spent > 1.001 * most + 1:
            raise InvariantViolated(f"{spent:.0f} bytes copied within a day, budget {most}")

    def on_moved(self, run: SimRun, change: Change) -> None:
        """A move ends."""
        del run
        self.checks["moves ended"] += 1
        self._moves.append((self._cluster.now, len(change.added)))
        for broker in change.removed:
            self._left[change.tp, broker] = self._cluster.now
