"""Every cell of the table of commands and states, on a cluster in memory, through the commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from kedge.apply import (
    Executor,
    Pacing,
    RunFiles,
    RunOptions,
    Runs,
    carry_out,
    new_record,
    new_request,
    propose_apply,
    propose_rollback,
)
from kedge.apply.throttles import present_throttles
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import (
    TopicCreation,
    TopicDescription,
    broker_resource,
    topic_resource,
)
from kedge.execution import (
    AT_WORK,
    TABLE,
    Action,
    Lease,
    Limits,
    RequestKind,
    RunKind,
    RunState,
    Verb,
    request_line,
)
from kedge.execution.run_states import refusal_lines, table_lines
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Plan, Reassignment, plan_to_json
from tests.apply.bench import EVERYWHERE, Killed
from tests.cli.cluster_commands import Desk
from tests.cli.conftest import Outcome

B1, B2, B3, B4 = map(BrokerId, (1, 2, 3, 4))
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
BEFORE = {0: (B1, B2), 1: (B2, B3)}
AFTER = {0: (B4, B2), 1: (B3, B4)}
OPTIONS = RunOptions(Limits(rate=1_000_000, each_way=1))


class Dying(RunFiles):
    """A run whose process dies when the journal says that it enters a state."""

    dies_in: RunState | None = None

    def enter(self, state: RunState, *, moved: int | None = None) -> None:
        super().enter(state, moved=moved)
        if state is self.dies_in:
            raise Killed


class Bench:
    """A cluster with a topic on brokers 1 to 3, a plan that brings broker 4 in, and another one."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.cluster = MemoryCluster(4)
        assignment = {number: list(replicas) for number, replicas in BEFORE.items()}
        self.cluster.create_topics([TopicCreation("t", assignment=assignment)])
        self.cluster.create_topics([TopicCreation("u", assignment={0: (B1, B2)})])
        self.desk = Desk(self.cluster, capsys)
        self.state = directory / "state"
        self.runs = Runs(self.state, "memory")
        entries = tuple(Reassignment.anywhere(TopicPartition("t", n), AFTER[n]) for n in (0, 1))
        before = {TopicPartition("t", n): BEFORE[n] for n in (0, 1)}
        self.plan = Plan(entries, before, cluster_id="memory")
        u0 = TopicPartition("u", 0)
        other = Plan((Reassignment.anywhere(u0, (B3, B2)),), {u0: (B1, B2)}, cluster_id="memory")
        self.file, self.other = directory / "plan.json", directory / "other.json"
        self.file.write_bytes(plan_to_json(self.plan))
        self.other.write_bytes(plan_to_json(other))

    def snapshot(self) -> object:
        """All that a refused command must leave as it is."""
        files = {p: p.read_bytes() for p in self.state.rglob("*.json*")}
        return self.replicas(), self.cluster.reassignments(), files

    def replicas(self) -> dict[int, tuple[BrokerId, ...]]:
        topic = self.cluster.describe_topics(["t"])["t"]
        assert isinstance(topic, TopicDescription)
        return topic.replicas()

    def throttles(self) -> list[str]:
        places = [*map(broker_resource, (B1, B2, B3, B4)), topic_resource("t"), topic_resource("u")]
        return [
            f"{place}: {entry.name}"
            for place, entries in self.cluster.describe_configs(places).items()
            for entry in (entries if isinstance(entries, tuple) else ())
            if "throttled" in entry.name and "DYNAMIC" in entry.source and entry.value
        ]

    def lease(self) -> Lease:
        """The throttles that are set."""
        return present_throttles(self.cluster, EVERYWHERE)[0]

    # ---- states ---------------------------------------------------------------------------------

    def bring_to(self, state: RunState) -> RunFiles:
        """A run in a state, as a process that died there has left it."""
        self.cluster.hold_moves = True
        makers: dict[RunState, Callable[[], RunFiles]] = {
            RunState.PLANNED: lambda: self._killed_in(None),
            RunState.THROTTLING: lambda: self._killed_in(RunState.THROTTLING),
            RunState.MOVING: self._moving,
            RunState.PAUSED: self._paused,
            RunState.STOPPED: self._stopped,
            RunState.ELECTING: lambda: self._killed_in(RunState.ELECTING),
            RunState.RELEASING: lambda: self._killed_in(RunState.RELEASING),
            RunState.DONE: lambda: self._killed_in(RunState.DONE),
            RunState.CANCELLING: self._cancelling,
            RunState.CANCELLED: self._cancelled,
            RunState.ROLLING_BACK: self._rolling_back,
            RunState.ROLLED_BACK: self._rolled_back,
            RunState.FAILED: self._failed,
        }
        run = makers[state]()
        assert self.runs.state_of(run) is state
        return run

    def _killed_in(self, state: RunState | None) -> RunFiles:
        proposal = propose_apply(self.cluster, self.runs, self.plan, OPTIONS, "plan.json")
        assert proposal.judged is not None
        record = new_record("memory", rate=1_000_000, each_way=1)
        run = self.runs.begin(self.plan, record)
        if state is None:
            return run
        dying = Dying(run.directory)
        object.__setattr__(dying, "dies_in", state)
        pacing = Pacing(sleep=lambda _: self.cluster.finish_moves())
        with pytest.raises(Killed):
            Executor(self.cluster, dying, proposal.judged, pacing).carry_out()
        return run

    def _moving(self) -> RunFiles:
        """One move has ended and one is under way."""
        return self._until_killed(waits=2)

    def _until_killed(self, waits: int) -> RunFiles:
        left = [waits]

        def wait(_: float) -> None:
            left[0] -= 1
            if not left[0]:
                raise Killed
            self.cluster.finish_moves()

        proposal = propose_apply(self.cluster, self.runs, self.plan, OPTIONS, "plan.json")
        with pytest.raises(Killed):
            carry_out(self.cluster, self.runs, proposal, Pacing(sleep=wait))
        return self.runs.chosen(None)

    def _paused(self) -> RunFiles:
        """One move has ended; the process died while the run was paused."""
        waits = [0]

        def wait(_: float) -> None:
            waits[0] += 1
            if waits[0] == 1:
                request = new_request(RequestKind.PAUSE)
                self.runs.chosen(None).send_request(request_line(request))
            self.cluster.finish_moves()
            if self.runs.chosen(None).record().state is RunState.PAUSED:
                raise Killed

        proposal = propose_apply(self.cluster, self.runs, self.plan, OPTIONS, "plan.json")
        with pytest.raises(Killed):
            carry_out(self.cluster, self.runs, proposal, Pacing(sleep=wait))
        return self.runs.chosen(None)

    def _stopped(self) -> RunFiles:
        proposal = propose_apply(self.cluster, self.runs, self.plan, OPTIONS, "plan.json")
        asked: list[bool] = []

        def wait(_: float) -> None:
            asked.append(True)
            self.cluster.finish_moves()

        pacing = Pacing(sleep=wait, stopping=lambda: bool(asked))
        run, outcome = carry_out(self.cluster, self.runs, proposal, pacing)
        assert outcome.stopped
        return run

    def _cancelling(self) -> RunFiles:
        """A process that died before it had sent the moves back."""
        run = self._moving()
        run.enter(RunState.CANCELLING)
        return run

    def _cancelled(self) -> RunFiles:
        run = self._moving()
        self.cluster.hold_moves = False
        assert self.desk("cancel", "--state", str(self.state), "--yes").code == 0
        self.cluster.hold_moves = True
        return run

    def _rolling_back(self) -> RunFiles:
        run = self._killed_in(RunState.DONE)
        proposal = propose_rollback(self.cluster, self.runs, None, OPTIONS)

        def die(_: float) -> None:
            raise Killed

        with pytest.raises(Killed):
            carry_out(self.cluster, self.runs, proposal, Pacing(sleep=die))
        return run

    def _rolled_back(self) -> RunFiles:
        run = self._killed_in(RunState.DONE)
        proposal = propose_rollback(self.cluster, self.runs, None, OPTIONS)
        pacing = Pacing(sleep=lambda _: self.cluster.finish_moves())
        carry_out(self.cluster, self.runs, proposal, pacing)
        return run

    def _failed(self) -> RunFiles:
        run = self._moving()
        self.cluster.finish_moves()
        run.enter(RunState.FAILED)
        return run


WORDS = {
    Verb.RESUME: ("resume",),
    Verb.CANCEL: ("cancel",),
    Verb.ROLLBACK: ("rollback", "--throttle", "1MB"),
    Verb.STATUS: ("status",),
    Verb.THROTTLE: ("throttle",),
    Verb.RATE: ("throttle", "--rate", "2MB"),
    Verb.PAUSE: ("pause",),
    Verb.CONTINUE: ("continue",),
}
RATES = (Action.CHANGE_RATE, Action.CHANGE_RATE_OF_ROLLBACK)
ASKING = (Verb.APPLY, Verb.APPLY_SAME, Verb.RESUME, Verb.CANCEL, Verb.ROLLBACK)
REQUESTS = {
    Verb.RATE: new_request(RequestKind.RATE, rate=2_000_000),
    Verb.PAUSE: new_request(RequestKind.PAUSE),
    Verb.CONTINUE: new_request(RequestKind.CONTINUE),
}
# Every command first removes throttles whose moves have ended.
SETTLED_FIRST = (RunState.ELECTING, RunState.RELEASING)


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


@pytest.mark.parametrize("state", RunState)
@pytest.mark.parametrize("verb", Verb)
def test_every_command_does_in_every_state_what_the_table_says(
    verb: Verb, state: RunState, bench: Bench
) -> None:
    run, cell = bench.bring_to(state), TABLE[verb][state]
    before = bench.snapshot()
    bench.cluster.hold_moves = cell.action is Action.REFUSE
    if cell.action in (Action.CONTINUE, Action.CONTINUE_ROLLBACK):
        bench.cluster.finish_moves()  # as brokers do, whether a process watches or not
    words = {
        Verb.APPLY: ("apply", str(bench.other), "--throttle", "1MB"),
        Verb.APPLY_SAME: ("apply", str(bench.file), "--throttle", "1MB"),
    } | WORDS
    outcome = bench.desk(*words[verb], "--state", str(bench.state), *yes_for(verb))
    if cell.action is Action.REFUSE:
        rollback = bench.runs.rollback_of(run)
        names = {"run": run.name, "rollback": rollback.name if rollback else ""}
        assert outcome.code == 2
        assert f"{cell.what}; {cell.hint}".format(**names) in outcome.err
        if state not in SETTLED_FIRST:
            assert bench.snapshot() == before
        return
    assert outcome.code == 0, outcome.err
    expected = expected_layout(cell.action, verb, state)
    if expected is not None:
        assert bench.replicas() == expected
    if cell.action in RATES:
        check_rate(bench, run)
    elif cell.action is not Action.SHOW:
        assert bench.throttles() == []
    check_states(bench, run, cell.action, verb)


def yes_for(verb: Verb) -> tuple[str, ...]:
    return ("--yes",) if verb in ASKING else ()


def check_rate(bench: Bench, run: RunFiles) -> None:
    """The journal has the rate, and so has every broker that was throttled."""
    carried_out = bench.runs.rollback_of(run) or run
    record = carried_out.record()
    assert record.rate == 2_000_000
    assert record.lease == bench.lease()
    rates = {value for configs in record.lease.brokers.values() for value in configs.values()}
    assert rates <= {"2000000"}


def expected_layout(
    action: Action, verb: Verb, state: RunState
) -> dict[int, tuple[BrokerId, ...]] | None:
    if action in (Action.ROLL_BACK, Action.CONTINUE_ROLLBACK, Action.CLOSE):
        return BEFORE
    if verb is Verb.APPLY_SAME or action is Action.CONTINUE:
        return AFTER
    if action is Action.CANCEL and state is RunState.MOVING:
        return {0: AFTER[0], 1: BEFORE[1]}
    return None


def check_states(bench: Bench, run: RunFiles, action: Action, verb: Verb) -> None:
    state = bench.runs.state_of(run)
    match action:
        case Action.START:
            latest = bench.runs.all()[-1]
            assert latest != run
            assert latest.record().state is RunState.DONE
        case Action.CONTINUE:
            assert state is RunState.DONE
        case Action.ROLL_BACK | Action.CONTINUE_ROLLBACK:
            assert state is RunState.ROLLED_BACK
            assert bench.runs.all()[-1].record().kind is RunKind.ROLLBACK
        case Action.CANCEL | Action.CLOSE:
            assert state is RunState.CANCELLED
        case Action.CANCEL_ROLLBACK:
            assert bench.runs.all()[-1].record().state is RunState.CANCELLED
            assert state is RunState.DONE
        case _:
            assert action is Action.SHOW or action in RATES


@pytest.mark.parametrize("verb", Verb)
def test_while_a_process_is_at_work_commands_refuse_or_send_requests(
    verb: Verb, bench: Bench
) -> None:
    """The run is moving; each command is called by another process at one of its polls."""
    answers: list[Outcome] = []

    def wait(_: float) -> None:
        if not answers:
            words = {
                Verb.APPLY: ("apply", str(bench.other), "--throttle", "1MB"),
                Verb.APPLY_SAME: ("apply", str(bench.file), "--throttle", "1MB"),
            } | WORDS
            answers.append(Outcome(-1, "", ""))
            if AT_WORK[verb].action is Action.REQUEST:
                bench.runs.chosen(None).send_request(request_line(REQUESTS[verb]))
            else:
                words_of = (*words[verb], "--state", str(bench.state), *yes_for(verb))
                answers[0] = bench.desk(*words_of)
        bench.cluster.finish_moves()
        record = bench.runs.chosen(None).record()
        if record.state is RunState.PAUSED:
            raise Killed

    bench.cluster.hold_moves = True
    proposal = propose_apply(bench.cluster, bench.runs, bench.plan, OPTIONS, "plan.json")
    with bench.runs.held(), suppress(Killed):
        carry_out(bench.cluster, bench.runs, proposal, Pacing(sleep=wait))
    cell, record = AT_WORK[verb], bench.runs.chosen(None).record()
    match cell.action:
        case Action.REFUSE:
            assert answers[0].code == 1  # the run ends some day: the command itself is no mistake
            assert f"{cell.what}; {cell.hint}" in answers[0].err
        case Action.SHOW:
            assert answers[0].code == 0, answers[0].err
        case _:
            assert list(record.replies) == [REQUESTS[verb].id]
    assert (record.state is RunState.PAUSED) == (verb is Verb.PAUSE)


def test_the_documentation_has_the_table_as_it_is() -> None:
    text = Path("docs/reference/runs.md").read_text()
    assert "\n".join(table_lines()) in text
    assert "\n".join(refusal_lines()) in text


def test_undoing_a_rollback_needs_its_name(bench: Bench) -> None:
    bench.bring_to(RunState.ROLLED_BACK)
    bench.cluster.hold_moves = False
    rollback = bench.runs.all()[-1]
    again = bench.desk("rollback", "--no-throttle", "--state", str(bench.state), "--yes")
    assert again.code == 2
    assert rollback.name in again.err
    assert bench.replicas() == BEFORE
    named = bench.desk(
        *("rollback", "--no-throttle", "--state", str(bench.state), "--yes"),
        *("--run", rollback.name),
    )
    assert named.code == 0, named.err
    assert bench.replicas() == AFTER


def test_a_rollback_that_was_killed_ends_in_the_layout_of_before(bench: Bench) -> None:
    """Called again, it used to roll forward what it had brought back."""
    bench.bring_to(RunState.ROLLING_BACK)
    bench.cluster.finish_moves()
    bench.cluster.hold_moves = False
    for _ in range(2):
        bench.desk("rollback", "--no-throttle", "--state", str(bench.state), "--yes")
        assert bench.replicas() == BEFORE


def test_runs_are_listed_with_their_states(bench: Bench) -> None:
    bench.bring_to(RunState.ROLLED_BACK)
    rows = json.loads(bench.desk("runs", "--state", str(bench.state), "--output", "json").out)
    shown = [(row["kind"], row["state"], row["done"], row["partitions"]) for row in rows["runs"]]
    assert shown == [("apply", "rolled back", 2, 2), ("rollback", "done", 2, 2)]
    lines = bench.desk("runs", "--state", str(bench.state)).out.splitlines()
    assert len(lines) == 3


def test_a_rollback_is_judged_before_anything_is_changed(bench: Bench) -> None:
    """With a broker down it used to cancel, remove the throttles and then refuse."""
    bench.bring_to(RunState.MOVING)
    bench.cluster.stop_broker(B2)
    before = bench.snapshot()
    words = ("rollback", "--throttle", "1MB", "--state", str(bench.state), "--yes")
    outcome = bench.desk(*words)
    assert outcome.code == 2
    assert "Broker 2 is down" in outcome.err
    assert bench.snapshot() == before
    assert bench.throttles() != []


def test_resume_can_leave_out_what_has_drifted(bench: Bench) -> None:
    bench.bring_to(RunState.MOVING)
    bench.cluster.finish_moves()
    bench.cluster.hold_moves = False
    bench.cluster.alter_reassignments({T1: (B1, B2)})
    refused = bench.desk("resume", "--state", str(bench.state))
    assert refused.code == 2
    assert "--skip-drifted" in refused.err
    went_on = bench.desk("resume", "--skip-drifted", "--state", str(bench.state))
    assert went_on.code == 1
    assert "1 moved, 1 skipped (t-1: moved by someone else)" in went_on.out
    assert bench.throttles() == []


def test_a_dry_run_changes_nothing_and_cleans_nothing_up(bench: Bench) -> None:
    bench.bring_to(RunState.MOVING)
    bench.cluster.finish_moves()
    before, throttles = bench.snapshot(), bench.throttles()
    words = ("apply", str(bench.file), "--throttle", "1MB", "--dry-run")
    shown = bench.desk(*words, "--state", str(bench.state))
    assert (shown.code, shown.out) == (0, "")
    assert "2 partitions: 2 in place, 0 to change" in shown.err
    assert bench.snapshot() == before
    assert bench.throttles() == throttles != []


def test_clearing_throttles_says_which_moves_go_on_without(bench: Bench) -> None:
    run = bench.bring_to(RunState.MOVING)
    shown = bench.desk("throttle", "--state", str(bench.state))
    assert shown.code == 0
    assert bench.throttles() != []  # moves are under way: nothing is settled
    cleared = bench.desk("throttle", "--clear", "--state", str(bench.state))
    assert f"moves of run {run.name} go on without a throttle" in cleared.err
    assert bench.throttles() == []


@pytest.mark.parametrize("verb", ["status", "runs", "throttle"])
def test_a_cancel_that_was_interrupted_is_finished_by_whatever_shows_it(
    bench: Bench, verb: str
) -> None:
    run = bench.bring_to(RunState.CANCELLING)
    assert bench.desk(verb, "--state", str(bench.state)).code == 0
    assert run.record().state is RunState.CANCELLED
    assert bench.replicas() == {0: AFTER[0], 1: BEFORE[1]}
    assert bench.throttles() == []
