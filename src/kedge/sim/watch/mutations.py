"""Loops that break one rule each, to test the checkers: a run with one must be caught."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kedge.watch.policy import Policy
from kedge.watch.rules import RULES, Rule


class Mutation:
    """The base class, which changes nothing; `dropped` names the rules that are left out."""

    dropped: tuple[str, ...] = ()
    is_fenced = True  # a server that was replaced can write nothing
    checks_version = True  # a run begins only in the version that was stored as running
    stall_chance = 0.005  # at a yield
    takes_back = True  # a start without a run goes back through all rules

    def policy(self, policy: Policy) -> Policy:
        """The policy as the script gets it."""
        return policy

    def rules(self) -> Mapping[str, Rule]:
        """The rules that the loop keeps."""
        return {name: rule for name, rule in RULES.items() if name not in self.dropped}


class IgnoreMode(Mutation):
    """Starts what no person has approved, in every mode."""

    dropped = ("mode",)


class TwoRuns(Mutation):
    """Starts a run beside another."""

    dropped = ("one_run", "foreign_moves")


class IgnoreHealth(Mutation):
    """Starts while brokers are down."""

    dropped = ("health",)


class IgnoreWindow(Mutation):
    """Starts at any time."""

    dropped = ("window",)


class IgnoreBudget(Mutation):
    """Copies as much as there is."""

    dropped = ("budget",)


class Flap(Mutation):
    """Undoes within the cool-down what it has done."""

    dropped = ("reversal",)

    def policy(self, policy: Policy) -> Policy:
        return replace(policy, cool_down_s=1.0)


class IgnoreForeignMoves(Mutation):
    """Starts while other clients move partitions."""

    dropped = ("foreign_moves",)


class IgnoreOtherProcess(Mutation):
    """Starts while another process acts on the runs."""

    dropped = ("other_process",)


class KeepStarted(Mutation):
    """Tries a start again until it works, whatever the policy is by then."""

    takes_back = False


class SkipFencing(Mutation):
    """Lets a server write that was replaced."""

    is_fenced = False
    checks_version = False
    stall_chance = 0.05  # a server is replaced only while it stalls


MUTATIONS: dict[str, type[Mutation]] = {
    "": Mutation,
    "ignore_mode": IgnoreMode,
    "two_runs": TwoRuns,
    "ignore_health": IgnoreHealth,
    "ignore_window": IgnoreWindow,
    "ignore_budget": IgnoreBudget,
    "flap": Flap,
    "ignore_foreign_moves": IgnoreForeignMoves,
    "ignore_other_process": IgnoreOtherProcess,
    "keep_started": KeepStarted,
    "skip_fencing": SkipFencing,
}
