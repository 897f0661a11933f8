"""Rounds of `kedge apply`, killed at random moments and then resumed, cancelled or rolled back.

A round draws a plan, applies it, and lets accidents happen: the command is killed with SIGKILL, or
broker 4 is killed while a command runs and is down when it ends. Verbs are repeated until the last
run has ended. Then the cluster must show exactly what the last run says (`Goal`), no reassignment
and no directory move may be under way, and no throttle may be left.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.real.four_brokers import KILLABLE
from tests.real.kedge_cluster import until
from tests.real.operator import ASKING, Done, Killed, Operator, await_moment, killed
from tests.real.trial_plan import Goal, Shown, TrialPlan, draw_plan

INTERVAL = ("--interval", "0.2")
PACE = ("--throttle", "600kB", *INTERVAL)
KILLED_WITHIN_S = (0.3, 8.0)  # from the start of the process; starting takes about one second
BROKER_KILLED_WITHIN_S = (0.0, 4.0)
DOWN_S = 6.0  # how long a command may go on with a broker down before it is killed too
CHANCE_OF_KILL = 0.4
CHANCE_OF_BROKER_LOSS = 0.25
CHANCE_OF_FIRST_KILL = 0.85
CHANCE_OF_ROLLBACK = 0.5  # of a run that is done
CHANCE_OF_TIMED_KILL = 0.6  # at a random time; else when throttles are set or removed
VERBS_MAX = 12
SETTLED_S = 60.0

DONE, CANCELLED, ROLLED_BACK = "done", "cancelled", "rolled back"
ENDED = (DONE, CANCELLED, ROLLED_BACK)
CONTACTS = ("throttle", "status", "runs")
BY_KIND = {"apply": ("resume", "cancel", "rollback"), "rollback": ("rollback", "resume", "cancel")}

Run = dict[str, Any]


class RoundFailed(AssertionError):
    """A round whose end is not as it must be."""


class Round:
    """One plan from its apply to its end."""

    def __init__(
        self,
        operator: Operator,
        topics: Sequence[str],
        seed: str,
        *,
        first: str = "apply",
        directories: bool = True,
    ) -> None:
        """`first` is the verb that the first accident happens to: apply or rollback."""
        self.story: list[str] = []
        self.kills: Counter[str] = Counter()
        self._first = first
        self._succeeded = ""  # the last verb that ended by itself, and well
        self._operator = operator
        self._cluster = operator.cluster
        self._topics = topics
        self._draw = random.Random(seed)
        self._directories = directories
        self._plan: TrialPlan
        self._file: Path

    def play(self) -> None:
        """Play the round; raises `RoundFailed` with what is wrong."""
        try:
            self._play()
        except AssertionError as failure:
            raise RoundFailed(str(failure)) from failure

    def _play(self) -> None:
        self._until_whole()
        self._plan = draw_plan(
            self._shown(), self._cluster.log_dirs, self._draw, directories=self._directories
        )
        self._file = self._operator.plan_file(self._plan.entries)
        if self._first == "apply":
            self._until_a_run_began()
        else:
            self._operator.run("apply", str(self._file), "--no-throttle", *INTERVAL)
            self._accident("rollback", *PACE)
        self._follow_up()
        goal = self._judge()
        if goal is Goal.AFTER and self._draw.random() < CHANCE_OF_ROLLBACK:
            self._verb("rollback")
            self._follow_up()
            goal = self._judge()
        self._refuse_more()

    # ---- verbs ----------------------------------------------------------------------------------

    def _until_a_run_began(self) -> None:
        """Apply until there is a run: a process that is killed early leaves none."""
        words = ("apply", str(self._file), *PACE)
        self._accident(*words)
        for _ in range(VERBS_MAX):
            if self._runs():
                return
            self._killed(*words)
        raise RoundFailed(f"no run was begun in {VERBS_MAX} calls")

    def _accident(self, *words: str) -> None:
        if self._draw.random() < CHANCE_OF_FIRST_KILL:
            self._killed(*words)
        else:
            self._with_broker_loss(*words)

    def _follow_up(self) -> None:
        """Call verbs until the last run has ended."""
        for _ in range(VERBS_MAX):
            run = self._last_run()
            if is_ended(run):
                return
            verb = self._draw.choice(next_verbs(run))
            if verb in CONTACTS:
                self._contact(verb)
            else:
                self._verb(verb)
        raise RoundFailed(f"run {self._last_run()} has not ended after {VERBS_MAX} verbs")

    def _verb(self, verb: str) -> None:
        """Call a verb, perhaps with an accident; a killed one is repeated by `_follow_up`."""
        words = (verb, *(() if verb == "cancel" else PACE))
        chance = self._draw.random()
        if chance < CHANCE_OF_KILL:
            self._killed(*words)
        elif chance < CHANCE_OF_KILL + CHANCE_OF_BROKER_LOSS:
            self._with_broker_loss(*words)
        else:
            done = self._operator.attempt(*words)
            self._tell(verb, done)
            self._must(done.code == 0, f"kedge {verb} ended with {done.code}: {done.err}")

    def _killed(self, verb: str, *words: str) -> None:
        """Kill a verb at a random moment; where it ends before, it must have succeeded."""
        when, holds = self._moment(KILLED_WITHIN_S)
        end = self._operator.kill_when(holds, verb, *words)
        if isinstance(end, Killed):
            self.kills[verb] += 1
            self.story.append(f"{verb} killed {when}")
            return
        self._tell(verb, end)
        self._must(end.code == 0, f"kedge {verb} ended with {end.code}: {end.err}")

    def _moment(self, within_s: tuple[float, float]) -> tuple[str, Callable[[], bool]]:
        """When something is killed while a verb runs, in words and as a condition."""
        if self._draw.random() < CHANCE_OF_TIMED_KILL:
            seconds = self._draw.uniform(*within_s)
            end = time.monotonic() + seconds
            return f"after {seconds:.1f} s", lambda: time.monotonic() > end
        seen = len(self._operator.broker_throttles())
        if self._draw.random() < 0.5 and not seen:
            return "when throttles were set", lambda: bool(self._operator.broker_throttles())
        return "when throttles were removed", self._removal(seen)

    def _removal(self, most: int) -> Callable[[], bool]:
        def holds() -> bool:
            nonlocal most
            now = len(self._operator.broker_throttles())
            most = max(most, now)
            return now < most

        return holds

    def _with_broker_loss(self, verb: str, *words: str) -> None:
        """Kill broker 4 while a verb runs; start it when the verb has ended, and make contact."""
        when, holds = self._moment(BROKER_KILLED_WITHIN_S)
        process = self._operator.start(verb, *words)
        await_moment(process, holds)
        self._cluster.kill(KILLABLE)
        self.kills[f"broker {KILLABLE}"] += 1
        self.story.append(f"broker {KILLABLE} killed {when}, during {verb}")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(DOWN_S)
        end = killed(process)
        if isinstance(end, Done):
            self._tell(verb, end)
        else:
            self.story.append(f"{verb} killed while the broker was down")
        self._cluster.await_gone(KILLABLE)
        self._must_be_leased()
        self._cluster.start(KILLABLE)
        self._until(self._is_caught_up, "replicas are not in sync after the broker's start")
        self._contact(self._draw.choice(CONTACTS))
        if isinstance(end, Done) and end.code == 0:
            self._operator.assert_no_throttles()

    def _must_be_leased(self) -> None:
        """A throttle on a broker that is down is listed: it is not forgotten."""
        down = f"broker {KILLABLE}: "
        if any(each.startswith(down) for each in self._operator.broker_throttles()):
            listed = self._operator.run("throttle")["throttles"]
            self._must(bool(listed), f"throttles on broker {KILLABLE} are set and not listed")

    def _contact(self, verb: str) -> None:
        """A command that only shows; it may refuse where there is no run to show."""
        done = self._operator.attempt(verb)
        self._tell(verb, done)
        may_refuse = verb == "status" and not self._runs()
        self._must(done.code == 0 or may_refuse, f"kedge {verb}: {done.code} {done.err}")

    def _refuse_more(self) -> None:
        """An ended run is not resumed, and a finished rollback not undone; nothing moves by it."""
        run = self._last_run()
        undone = run["kind"] == "rollback" and run["state"] == DONE
        verbs = ["resume", "rollback"] if undone else ["resume"]
        for verb in verbs:
            done = self._operator.attempt(verb, *PACE)
            self._tell(verb, done)
            self._must(done.code == 2, f"kedge {verb} of an ended run ended with {done.code}")
        self._judge()

    # ---- judging --------------------------------------------------------------------------------

    def _judge(self) -> Goal:
        """Compare the cluster with what the last run says; returns what that is."""
        # a rollback that ended well leaves `before`, also where it had nothing to undo
        goal = Goal.BEFORE if self._succeeded == "rollback" else goal_of(self._last_run())
        self._until_whole()
        wrong = self._plan.differences(self._shown(), goal)
        self._must(not wrong, f"not {goal.value}: " + "; ".join(wrong[:5]))
        self._operator.assert_no_throttles()
        self.story.append(f"the cluster shows {goal.value}")
        return goal

    def _shown(self) -> Shown:
        operator = self._operator
        return Shown(operator.replicas(self._topics), operator.directories(self._topics))

    def _until_whole(self) -> None:
        self._until(
            lambda: not self._operator.directories(self._topics, future=True),
            "directory moves are under way",
        )
        self._until(self._is_whole, "partitions are being moved or replicas are not in sync")

    def _is_whole(self) -> bool:
        return not self._operator.admin.reassignments() and self._is_caught_up()

    def _is_caught_up(self) -> bool:
        """Whether every partition that is not being moved has a leader and all replicas in sync."""
        moving = self._operator.admin.reassignments()
        return all(
            each.leader is not None and set(each.isr) == set(each.replicas)
            for tp, each in self._operator.partitions(self._topics).items()
            if tp not in moving
        )

    def _until(self, holds: Callable[[], bool], otherwise: str) -> None:
        try:
            until(holds, SETTLED_S, 0.2)
        except AssertionError:
            raise RoundFailed(f"{otherwise} after {SETTLED_S:.0f} s") from None

    # ---- runs -----------------------------------------------------------------------------------

    def _runs(self) -> list[Run]:
        return self._operator.run("runs")["runs"]

    def _last_run(self) -> Run:
        """The run that began last; runs are named by the time of their beginning."""
        return max(self._runs(), key=lambda run: run["run"])

    # ---- telling --------------------------------------------------------------------------------

    def _tell(self, verb: str, done: Done) -> None:
        self.story.append(f"{verb} ended with {done.code}")
        if done.code == 0 and verb in ASKING:
            self._succeeded = verb
        self._must("Traceback" not in done.err, f"kedge {verb}: {done.err}")

    def _must(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise RoundFailed(otherwise)


def is_ended(run: Run) -> bool:
    """Whether there is nothing more to do for a run."""
    return run["state"] in ENDED


def next_verbs(run: Run) -> tuple[str, ...]:
    """What may be called when a run was interrupted; where only its throttles are left, any
    command removes them."""
    match run["state"], run["kind"]:
        case "cancelling", _:
            return ("cancel",)
        case "releasing", "apply":
            return ("rollback", *CONTACTS)
        case "releasing", _:
            return CONTACTS
        case _, kind:
            return BY_KIND[kind]


def goal_of(run: Run) -> Goal:
    """What the cluster must show after a run has ended."""
    if run["state"] == CANCELLED:
        return Goal.EITHER
    return Goal.BEFORE if run["kind"] == "rollback" or run["state"] == ROLLED_BACK else Goal.AFTER
