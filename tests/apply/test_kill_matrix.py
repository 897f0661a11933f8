"""Kill -9 at every point of every command about runs, and then every command that is allowed.

`tests.apply.deaths` finds the points while a command runs, and keeps what the killed process would
leave; `tests.apply.kill_checks` has what must be true in the end. On a lab, with its brokers and
its store, the same is in `tests/lab/test_kill_matrix.py`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from jvm import memory_directory
from kedge.apply import Pacing, RunOptions
from kedge.cluster.memory import MemoryCluster
from kedge.errors import RefusedCommand
from kedge.execution import Limits, RunState
from kedge.model import BrokerId
from tests.apply.deaths import Death, Deaths, DirectoryPlace, LogPlace, Place, World
from tests.apply.kill_checks import (
    BEFORE,
    BROKERS,
    BYSTANDER,
    Expected,
    Start,
    create_topics,
    layout,
    throttle_by_others,
)
from tests.apply.run_commands import Command, Desk

TOPIC, OTHER = "t", "other"


@dataclass(frozen=True)
class Case:
    """The throttle of a run, and where others have set theirs before."""

    name: str
    rate: int | None
    foreign_brokers: tuple[BrokerId, ...]
    foreign_topic: str

    def __str__(self) -> str:
        return self.name


THROTTLED = Case("throttled", 1_000, (BYSTANDER,), OTHER)
BESIDE_OTHERS = Case("beside throttles of others", None, BROKERS, TOPIC)


@pytest.fixture(params=["directory", "log"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "log":
        yield LogPlace()
        return
    with tempfile.TemporaryDirectory(prefix="kedge-kills-", dir=memory_directory()) as directory:
        yield DirectoryPlace(Path(directory))


def desk(deaths: Deaths, case: Case) -> Desk:
    """A process."""
    pacing = Pacing(sleep=deaths.wait, clock=deaths.clock, now=deaths.clock)
    options = RunOptions(Limits(case.rate, each_way=1))
    return Desk(deaths.cluster(), deaths.runs(), pacing, options)


def applied(place: Place, case: Case) -> tuple[Start, list[Death]]:
    """A whole run, with all its deaths."""
    world = World(MemoryCluster(len(BROKERS)), place)
    world.cluster.hold_moves = True
    create_topics(world.cluster, TOPIC, OTHER)
    throttle_by_others(world.cluster, case.foreign_brokers, case.foreign_topic)
    start = Start.of(world.cluster, TOPIC, OTHER)
    deaths = Deaths(world)
    desk(deaths, case).apply(start.plan)
    start.check(world.cluster, Deaths(world, kept=False).runs(), RunState.DONE)
    assert deaths.journal_points >= 10
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
    deaths, refused = Deaths(world, kept), None
    try:
        desk(deaths, case).do(command)
    except RefusedCommand as refusal:
        refused = refusal
    expected.check(start, world.cluster, unwatched.runs(), refused)
    return deaths.found


@pytest.mark.parametrize("case", [THROTTLED, BESIDE_OTHERS], ids=str)
@pytest.mark.parametrize("command", Command)
def test_apply_killed_anywhere(place: Place, case: Case, command: Command) -> None:
    start, deaths = applied(place, case)
    for death in deaths:
        with told(f"apply killed at {death}, then {command}"):
            continued(death, command, start, case)


@pytest.mark.parametrize(
    ("command", "state"),
    [
        (Command.RESUME, RunState.MOVING),
        (Command.CANCEL, RunState.MOVING),
        (Command.ROLLBACK, RunState.MOVING),
        (Command.ROLLBACK, RunState.DONE),
    ],
)
def test_a_command_after_a_death_is_killed_anywhere_too(
    place: Place, command: Command, state: RunState
) -> None:
    start, deaths = applied(place, THROTTLED)
    first = death_in(state, deaths)
    for second in continued(first, command, start, THROTTLED, kept=True):
        for last in Command:
            with told(f"apply killed at {first}, {command} at {second}, then {last}"):
                continued(second, last, start, THROTTLED)


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
