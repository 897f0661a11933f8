"""The loop that carries a plan out: look, judge, start what may start, tell, wait; then clean up.

What ends a run early leaves the cluster in order:

    an interrupt      starts nothing more and waits for what is under way; then throttles go
    a second one      leaves at once; the journal knows the lease, the next command ends it
    kill -9           the same
    a cluster out of reach    the run keeps asking; after `patience_s` it leaves as above
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kedge.apply.looking import (
    HEARD_S,
    observe,
    present_throttles,
    remove_throttles,
    set_throttles,
    sizes_of,
    until_heard,
)
from kedge.apply.runs import RunFiles
from kedge.cluster.port import Cluster, Election
from kedge.errors import KedgeError, Unavailable
from kedge.execution import (
    DRIFTED,
    SETTLED,
    Ending,
    Observation,
    Pace,
    Progress,
    Standing,
    in_order,
    judge,
    lease_for,
    next_moves,
    progress_of,
    refuse_foreign,
    standings_of,
    waiting_for_brokers,
)
from kedge.execution import journal as lines
from kedge.model import TopicPartition
from kedge.plan import Change, Plan

BATCH = 1_000
DOUBTS, DOUBT_S = 20, 0.25


def _nothing(*_: object) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Pacing:
    """How a run waits, and whom it tells."""

    interval_s: float = 1.0
    patience_s: float = 300.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    stopping: Callable[[], bool] = lambda: False
    on_progress: Callable[[Progress], None] = _nothing
    on_note: Callable[[str], None] = _nothing


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended; `left` are the partitions that it did not bring to their places."""

    done: int
    left: Mapping[TopicPartition, Standing]
    refused: Mapping[TopicPartition, KedgeError] = field(
        default_factory=dict[TopicPartition, KedgeError]
    )
    stopped: bool = False

    @property
    def complete(self) -> bool:
        """Whether everything is in its place."""
        return not self.left and not self.refused


def preview(
    cluster: Cluster, plan: Plan, *, skip_drifted: bool = False
) -> tuple[list[Change], dict[TopicPartition, Standing], Observation]:
    """Look and judge; nothing is changed. The changes are in the order of the plan's waves."""
    changes = in_order(plan)
    seen = observe(cluster, changes)
    standings = standings_of(changes, seen)
    if skip_drifted:
        changes = [change for change in changes if standings[change.tp] not in DRIFTED]
        standings = {change.tp: standings[change.tp] for change in changes}
    judge(plan, changes, standings, seen, cluster_id=cluster.describe().cluster_id)
    return changes, standings, seen


class Run:
    """One plan on its way."""

    def __init__(self, cluster: Cluster, files: RunFiles, pacing: Pacing) -> None:
        self._cluster, self._files, self._pacing = cluster, files, pacing
        self._refused: dict[TopicPartition, KedgeError] = {}
        self._pace = Pace()
        self._said: set[str] = set()
        self._strayed: set[TopicPartition] = set()  # beyond doubt

    def carry_out(self, changes: list[Change]) -> Outcome:
        """Until all is in its place, or somebody wants to stop."""
        self._take_lease(changes)
        standings = self._until_settled(changes)
        self._elect(changes, standings)
        self.give_back()
        return self._outcome(standings)

    # ---- throttles ------------------------------------------------------------------------------

    def _take_lease(self, changes: list[Change]) -> None:
        state = self._files.state()
        if state.rate is None:
            return
        seen = observe(self._cluster, changes)
        wanted = lease_for(changes, standings_of(changes, seen), seen, state.rate)
        refuse_foreign(present_throttles(self._cluster, wanted), state.lease)
        # What the journal has stays to the letter: only so is it known as ours later.
        both = wanted.and_also(state.lease)
        self._files.write(lines.leased(both))
        set_throttles(self._cluster, both)
        for broker in until_heard(
            self._cluster, both, sleep=self._pacing.sleep, clock=self._pacing.clock
        ):
            self._note(f"broker {broker} has not taken its throttle in {HEARD_S:g} s")

    def give_back(self) -> None:
        """Remove the throttles that this run has set."""
        lease = self._files.state().lease
        if lease:
            remove_throttles(self._cluster, lease)
            self._files.write(lines.released())

    # ---- moves ----------------------------------------------------------------------------------

    def _until_settled(self, changes: list[Change]) -> dict[TopicPartition, Standing]:
        each_way = self._files.state().each_way
        while True:
            seen, standings = self._look_twice(changes)
            self._tell(changes, standings, seen)
            stopping = self._pacing.stopping()
            open_ = [c for c in changes if standings[c.tp] not in SETTLED | DRIFTED]
            waiting = [c for c in open_ if c.tp not in self._refused]
            under_way = any(standing is Standing.MOVING for standing in standings.values())
            if not under_way and (stopping or not waiting):
                return standings
            started = [] if stopping else next_moves(waiting, standings, seen, each_way=each_way)
            for start in range(0, len(started), BATCH):
                self._start(started[start : start + BATCH])
            if not started or under_way:
                self._pacing.sleep(self._pacing.interval_s)

    def _look_twice(
        self, changes: list[Change]
    ) -> tuple[Observation, dict[TopicPartition, Standing]]:
        """Where all stands; what seems to have strayed is looked at again before it is believed.

        The controller tells that a move has ended before every broker has heard of it.
        """
        doubts = DOUBTS
        while True:
            seen = self._look(changes)
            standings = standings_of(changes, seen)
            strayed = {tp for tp, standing in standings.items() if standing in DRIFTED}
            doubts -= 1
            if strayed <= self._strayed or doubts <= 0:
                self._strayed |= strayed
                return seen, standings
            self._pacing.sleep(min(self._pacing.interval_s, DOUBT_S))

    def _look(self, changes: list[Change]) -> Observation:
        """Look, and look again while nobody answers."""
        deadline = self._pacing.clock() + self._pacing.patience_s
        while True:
            try:
                return observe(self._cluster, changes)
            except Unavailable as gone:
                if self._pacing.clock() >= deadline:
                    raise
                self._note(f"no answer from the cluster ({gone.what}); asking again")
                self._pacing.sleep(self._pacing.interval_s)

    def _start(self, changes: list[Change]) -> None:
        self._files.write(lines.started(change.tp for change in changes))
        try:
            answers = self._cluster.alter_reassignments({c.tp: c.after for c in changes})
        except Unavailable as gone:  # the next look tells whether they have started
            self._note(f"no answer from the cluster ({gone.what}); asking again")
            return
        for tp, refusal in answers.items():
            if refusal is not None and not refusal.retriable:
                self._refused[tp] = refusal
                self._note(f"{tp} was refused: {refusal}")

    def _elect(self, changes: list[Change], standings: Mapping[TopicPartition, Standing]) -> None:
        """Give the lead to the replica that the plan puts first."""
        seen = self._look(changes)
        off = [
            c.tp
            for c in changes
            if standings[c.tp] is Standing.DONE
            and seen.leaders.get(c.tp) != c.after[0]
            and c.after[0] in seen.alive
        ]
        if not off:
            return
        answers = self._cluster.elect_leaders(Election.PREFERRED, off)
        for tp, refusal in answers.items():
            if refusal is not None and seen.leaders.get(tp) is not None:
                self._note(f"{tp} is still led by {seen.leaders[tp]}: {refusal.what}")

    # ---- telling --------------------------------------------------------------------------------

    def _tell(
        self,
        changes: list[Change],
        standings: Mapping[TopicPartition, Standing],
        seen: Observation,
    ) -> None:
        sizes = sizes_of(self._cluster, changes, seen.alive)
        now = self._pacing.clock()
        self._pacing.on_progress(progress_of(changes, standings, sizes, self._pace, now))
        for broker in waiting_for_brokers(changes, standings, seen):
            self._note(f"moves wait for broker {broker}, which is down")
        for tp, standing in standings.items():
            if standing in DRIFTED:
                self._note(f"{tp} was taken elsewhere by somebody else: left alone")

    def _note(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._pacing.on_note(text)

    def _outcome(self, standings: Mapping[TopicPartition, Standing]) -> Outcome:
        left = {tp: standing for tp, standing in standings.items() if standing not in SETTLED}
        if not left:
            self._files.write(lines.ended(Ending.FINISHED))
        done = sum(standing is Standing.DONE for standing in standings.values())
        return Outcome(done, left, dict(self._refused), stopped=self._pacing.stopping())
