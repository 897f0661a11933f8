"""Kill -9 at every point of every command about runs, and then every command that is allowed.

`tests.apply.deaths` finds the points while a command runs, and keeps what the killed process would
leave; `tests.apply.kill_cases` has the runs, `tests.apply.kill_checks` what must be true in the
end. On a lab, with its brokers and its store, the same is in `tests/lab/test_kill_matrix.py`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from jvm import memory_directory
from kedge.apply import Pacing, RunOptions
from kedge.apply.jobs import Drain
from kedge.errors import RefusedCommand
from kedge.execution import Limits, RunState
from tests.apply.deaths import Death, Deaths, DirectoryPlace, LogPlace, Place, World
from tests.apply.kill_cases import (
    CASES,
    CORDONS_OF_OTHERS,
    DRAINING,
    OTHER,
    STEERED,
    THROTTLED,
    TOPIC,
    Case,
)
from tests.apply.kill_checks import (
    BEFORE,
    BROKERS,
    BYSTANDER,
    Expected,
    Start,
    cordon_by_others,
    create_topics,
    layout,
    throttle_by_others,
)
from tests.apply.operators import Operator
from tests.apply.run_commands import Command, Desk
from tests.cluster.cordoning import CordoningCluster


@pytest.fixture(params=["directory", "log"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "log":
        yield LogPlace()
        return
    with tempfile.TemporaryDirectory(prefix="kedge-kills-", dir=memory_directory()) as directory:
        yield DirectoryPlace(Path(directory))


def desk(deaths: Deaths, case: Case) -> Desk:
    """A process."""
    pacing = Pacing(case.interval_s, sleep=deaths.wait, clock=deaths.clock, now=deaths.clock)
    options = RunOptions(Limits(case.rate, each_way=1), steering=case.steering)
    return Desk(deaths.cluster(), deaths.runs(), pacing, options)


def applied(place: Place, case: Case) -> tuple[Start, list[Death]]:
    """A whole run, with all its deaths."""
    world = World(CordoningCluster(len(BROKERS)), place)
    world.cluster.hold_moves = True
    world.cluster.latency_s[BYSTANDER] = 2.0  # so slow that a throttle which adapts is halved
    create_topics(world.cluster, TOPIC, OTHER)
    throttle_by_others(world.cluster, case.foreign_brokers, case.foreign_topic)
    cordon_by_others(world.cluster, CORDONS_OF_OTHERS)
    start = Start.of(world.cluster, TOPIC, OTHER)
    deaths = Deaths(world, meanwhile=Operator(case.wishes).act)
    desk(deaths, case).apply(start.plan, Drain(case.drained))
    done = replace(start, drained=frozenset(case.drained))
    done.check(world.cluster, Deaths(world, kept=False).runs(), RunState.DONE)
    assert len(deaths.events) >= 10
    assert case.events <= set(deaths.events)
    return start, deaths.found


def continued(
    death: Death, command: Command, start: Start, case: Case, *, kept: bool = False
) -> Sequence[Death]:
    """Give a command after a death and check what it does; its own deaths are returned."""
    world = death.world.copy()
    unwatched = Deaths(world, kept=False)
    if not unwatched.runs().all():
        assert layout(world.cluster, TOPIC) == BEFORE  # nothing is done before a run has begun
        return ()
    expected = Expected.of(command, unwatched.runs())
    # Which brokers a job drains is known to no other process before the journal has them.
    drained = unwatched.runs().chosen(None).record().cordons
    start = replace(start, drained=frozenset(drained))
    deaths, refused = Deaths(world, kept, Operator().act), None
    try:
        desk(deaths, case).do(command)
    except RefusedCommand as refusal:
        refused = refusal
    expected.check(start, world.cluster, unwatched.runs(), refused)
    return deaths.found


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("command", Command)
def test_apply_killed_anywhere(place: Place, case: Case, command: Command) -> None:
    start, deaths = applied(place, case)
    for death in deaths:
        with told(f"apply killed at {death}, then {command}"):
            continued(death, command, start, case)


@pytest.mark.parametrize(
    ("case", "command", "state"),
    [
        (THROTTLED, Command.RESUME, RunState.MOVING),
        (THROTTLED, Command.CANCEL, RunState.MOVING),
        (THROTTLED, Command.ROLLBACK, RunState.MOVING),
        (THROTTLED, Command.ROLLBACK, RunState.DONE),
        (STEERED, Command.RESUME, RunState.PAUSED),
        (DRAINING, Command.RESUME, RunState.PLANNED),
        (DRAINING, Command.CANCEL, RunState.MOVING),
        (DRAINING, Command.ROLLBACK, RunState.DONE),
    ],
    ids=str,
)
def test_a_command_after_a_death_is_killed_anywhere_too(
    place: Place, case: Case, command: Command, state: RunState
) -> None:
    start, deaths = applied(place, case)
    first = death_in(state, deaths)
    for second in continued(first, command, start, case, kept=True):
        for last in Command:
            with told(f"apply killed at {first}, {command} at {second}, then {last}"):
                continued(second, last, start, case)


def death_in(state: RunState, deaths: Sequence[Death]) -> Death:
    """The death in the middle of those in a state; of those that leave moves under way, if any."""
    found: list[Death] = []
    for death in deaths:
        runs = Deaths(death.world, kept=False).runs()
        if runs.all() and runs.state_of(runs.chosen(None)) is state:
            found.append(death)
    under_way = [each for each in found if each.world.cluster.reassignments()]
    chosen = under_way or found
    return chosen[len(chosen) // 2]


@contextmanager
def told(story: str) -> Generator[None]:
    """What is raised within names the deaths that led to it."""
    try:
        yield
    except BaseException as fault:
        fault.add_note(story)
        raise
