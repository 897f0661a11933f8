"""Every state in which a killed process can leave a cluster and its runs.

A process that is killed leaves what it has written: the cluster, and the place where runs are kept.
Nothing else of it remains, so a copy of both is all that the next process can find. `Deaths`
watches a command from its first to its last step and keeps such a copy

    at the beginning             nothing was done yet
    after each line, each transaction of the log and each request that changes the cluster
    within each of them          half of a request's items were done; half of a line is on disk
    after each wait              moves have gone on meanwhile

The points are those that the command passes, counted as it runs: a new line or request of the
executor is covered without a change here.
"""

from __future__ import annotations

import copy
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import orjson

from kedge.apply import RunFiles, Runs, RunStore
from kedge.apply.cluster_runs import ClusterRuns
from kedge.apply.ownership import Timing
from kedge.apply.run_records import LINE
from kedge.cluster.log_port import LogEntry
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.memory_log import MemoryLog, MemoryTopic
from kedge.cluster.port import Cluster

K = TypeVar("K")
V = TypeVar("V")

CLUSTER_ID = "memory"
JOURNAL = "journal.jsonl"


class Place(ABC):
    """Where runs are kept, as it outlives processes."""

    @abstractmethod
    def copy(self) -> Place:
        """The same at this moment."""

    @abstractmethod
    def open(self, deaths: Deaths) -> RunStore:
        """The runs, for one process."""


@dataclass
class World:
    """All that outlives a process."""

    cluster: MemoryCluster
    place: Place
    time: float = 0.0

    def copy(self) -> World:
        return World(copy.deepcopy(self.cluster), self.place.copy(), self.time)

    def wait(self, seconds: float) -> None:
        """Time passes, and one move that is under way ends."""
        self.time += max(seconds, 0.1)
        assert self.time < 1_000_000, "the command never ends"
        for partition in self.cluster._partitions():
            if partition.assignment.in_progress or partition.future:
                partition.finish_moves(self.cluster.alive)
                return


class Death(NamedTuple):
    """What a process leaves that is killed at a point."""

    point: str
    world: World

    def __repr__(self) -> str:
        return self.point


@dataclass
class Deaths:
    """The deaths of one command, in their sequence; `kept` is False where none is wanted.

    `meanwhile` is what others do while the command waits, `events` names the lines that it wrote:
    by their event, those that enter a state by the state.
    """

    world: World
    kept: bool = True
    meanwhile: Callable[[World], None] = lambda _: None
    found: list[Death] = field(default_factory=list[Death])
    events: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.at("the beginning")

    def at(self, point: str, change: Callable[[World], None] = lambda _: None) -> None:
        """The process may be killed here."""
        if self.kept:
            left = self.world.copy()
            change(left)
            self.found.append(Death(f"{len(self.found)} {point}", left))

    def wait(self, seconds: float) -> None:
        self.world.wait(seconds)
        self.meanwhile(self.world)
        self.at("waiting")

    def wrote(self, line: bytes) -> None:
        """A line of a journal was written."""
        written = orjson.loads(line)
        self.events.append(written.get("state", written["event"]))

    def clock(self) -> float:
        return self.world.time

    # ---- what a process uses --------------------------------------------------------------------

    def runs(self) -> RunStore:
        return self.world.place.open(self)

    def cluster(self) -> Cluster:
        return cast("Cluster", _WatchedCluster(self))


# ---- the cluster --------------------------------------------------------------------------------


class _WatchedCluster:
    """Passes calls on; a request that changes several things is killed between them, too."""

    def __init__(self, deaths: Deaths) -> None:
        self._deaths, self._cluster = deaths, deaths.world.cluster

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    def alter_configs(self, changes: Mapping[Any, Any], *, validate_only: bool = False) -> Any:
        if validate_only:
            return self._cluster.alter_configs(changes, validate_only=True)
        return self._changed("alter_configs", changes, self._cluster.alter_configs)

    def alter_reassignments(self, targets: Mapping[Any, Any]) -> Any:
        return self._changed("alter_reassignments", targets, self._cluster.alter_reassignments)

    def alter_log_dirs(self, moves: Mapping[Any, Any]) -> Any:
        return self._changed("alter_log_dirs", moves, self._cluster.alter_log_dirs)

    def elect_leaders(self, election: Any, partitions: Sequence[Any] | None = None) -> Any:
        found = self._cluster.elect_leaders(election, partitions)
        self._deaths.at("elect_leaders")
        return found

    def _changed(
        self, name: str, items: Mapping[K, V], change: Callable[[dict[K, V]], Mapping[K, Any]]
    ) -> dict[K, Any]:
        listed, half = list(items.items()), (len(items) + 1) // 2
        found = dict(change(dict(listed[:half])))
        if listed[half:]:
            self._deaths.at(f"within {name}")
            found.update(change(dict(listed[half:])))
        self._deaths.at(name)
        return found


# ---- runs in a directory ------------------------------------------------------------------------


class DirectoryPlace(Place):
    """A directory; copies of it are beside it."""

    def __init__(self, within: Path) -> None:
        self._within = within
        self._path = Path(tempfile.mkdtemp(dir=within))

    def copy(self) -> DirectoryPlace:
        made = DirectoryPlace(self._within)
        shutil.copytree(self._path, made._path, dirs_exist_ok=True)
        return made

    def open(self, deaths: Deaths) -> Runs:
        return _WatchedRuns(self._path, deaths)

    def cut(self, run: str, line: bytes) -> None:
        """Half of a line is on disk."""
        with (self._path / CLUSTER_ID / run / JOURNAL).open("ab") as journal:
            journal.write(line[: len(line) // 2])


class _WatchedRuns(Runs):
    def __init__(self, path: Path, deaths: Deaths) -> None:
        super().__init__(path, CLUSTER_ID)
        self._deaths = deaths

    def files(self, directory: Path) -> RunFiles:
        return _WatchedFiles(directory, deaths=self._deaths)


@dataclass(frozen=True)
class _WatchedFiles(RunFiles):
    deaths: Deaths = field(kw_only=True, compare=False)

    def now(self) -> float:
        return self.deaths.world.time

    def begin(self, line: bytes) -> None:
        self.deaths.at("within the beginning of a run")
        super().begin(line)
        self.deaths.wrote(line)
        self.deaths.at(_named(line))

    def write(self, line: bytes) -> None:
        def cut(left: World) -> None:
            assert isinstance(left.place, DirectoryPlace)
            left.place.cut(self.name, line)

        self.deaths.at(f"within {_named(line)}", cut)
        super().write(line)
        self.deaths.wrote(line)
        self.deaths.at(_named(line))


def _named(line: bytes) -> str:
    return line[:60].decode(errors="replace").strip()


# ---- runs in the cluster ------------------------------------------------------------------------


class LogPlace(Place):
    """A log that the cluster keeps."""

    def __init__(self, topic: MemoryTopic | None = None) -> None:
        self._topic = topic or MemoryTopic()

    def copy(self) -> LogPlace:
        made = MemoryTopic()
        made.created, made.epoch = self._topic.created, self._topic.epoch
        for record in self._topic.records:
            made.add(record.key, record.value)
        return LogPlace(made)

    def open(self, deaths: Deaths) -> ClusterRuns:
        timing = Timing(
            lease_s=1.0,
            renew_s=1e6,  # every line and every request renews it
            poll_s=0.5,
            clock=deaths.clock,
            now=deaths.clock,
            sleep=deaths.wait,
        )
        return ClusterRuns(_WatchedLog(self._topic, deaths), CLUSTER_ID, timing=timing)


class _WatchedLog(MemoryLog):
    def __init__(self, topic: MemoryTopic, deaths: Deaths) -> None:
        super().__init__(topic)
        self._deaths = deaths

    def become_writer(self) -> None:
        super().become_writer()
        self._deaths.at("become_writer")

    def append(self, entries: Sequence[LogEntry]) -> int:
        last = super().append(entries)
        if len(entries) > 1:  # more than a lease that is renewed
            for entry in entries:
                if entry.key.startswith(f"{LINE}/"):
                    self._deaths.wrote(entry.value or b"")
            self._deaths.at(f"append {entries[0].key} {_named(entries[0].value or b'')}")
        return last
