"""The port to runs: what commands and the executor need of them, wherever they are kept.

`Run` is one run: its plan, its journal and the requests that other processes send to it. `RunStore`
has the runs of one cluster, and lets one process act on them at a time. Two adapters implement it:
`run_store` (a directory) and `cluster_runs` (a topic of the cluster); `kedge.wiring` chooses.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from secrets import token_hex
from typing import NamedTuple, Protocol

from kedge.cluster.log_port import ClusterClock
from kedge.cluster.port import Cluster
from kedge.errors import InvalidRequest
from kedge.execution import ENDED, RunKind, RunRecord, RunState, Setting
from kedge.plan import Plan


class Run(Protocol):
    """One run."""

    @property
    def name(self) -> str:
        """The run's id."""
        ...

    def now(self) -> float:
        """The time that the journal gets, in seconds since 1970."""
        ...

    def plan(self) -> Plan:
        """The plan as it was reviewed."""
        ...

    def record(self) -> RunRecord:
        """The record that the journal gives."""
        ...

    def write(self, line: bytes) -> None:
        """Append a line to the journal; it is durable when this returns."""
        ...

    def enter(self, state: RunState, *, moved: int | None = None) -> None:
        """Write that the run enters a state."""
        ...

    def send_request(self, line: bytes) -> None:
        """Append a request to the process that carries the run out; any process may.

        A line ends with a line feed, as lines of the journal do.
        """
        ...

    def requests(self) -> list[bytes]:
        """Every request that was sent to the run, oldest first, without line feeds."""
        ...


class OwnerSeen(NamedTuple):
    """The process that acts on the runs, and when it last showed that it lives."""

    name: str
    renewed_at: float  # seconds since 1970


class RunStore(ABC):
    """The runs of one cluster."""

    cluster_id: str

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the runs are kept, for messages."""

    @abstractmethod
    def all(self) -> Sequence[Run]:
        """Every run, oldest first."""

    @abstractmethod
    def record_of(self, run: Run) -> RunRecord:
        """The record of a run, read again only if its journal has grown."""

    @abstractmethod
    def begin(self, plan: Plan, record: RunRecord) -> Run:
        """A new run: its plan and the first line of its journal."""

    @abstractmethod
    def held(self, *, patient: bool = True) -> AbstractContextManager[None]:
        """No other process acts on these runs within the block.

        A `patient` caller acts: it waits for a process that may be dead, and creates what keeps
        others out. One that is not only cleans up where that takes neither.

        Raises:
            ReassignmentInProgress: another process acts on them.
        """

    @abstractmethod
    def guarded(self, cluster: Cluster) -> Cluster:
        """The cluster for a process that acts: no request is sent after it has lost the runs."""

    def owner(self) -> OwnerSeen | None:
        """The process that acts on the runs, where the store knows it."""
        return None

    def has_process(self) -> bool | None:
        """Whether a process acts on the runs; None where the store cannot tell."""
        return None

    def clock(self) -> ClusterClock | None:
        """The clock of the cluster, where its time does not pass as ours does: a lab."""
        return None

    # ---- which run a command is about -----------------------------------------------------------

    def chosen(self, run_id: str | None) -> Run:
        """The run with this id, or the latest; of a rollback, the run that it undoes."""
        runs = self.all()
        if run_id is not None:
            return _by_id(runs, run_id)
        if not runs:
            raise InvalidRequest(
                f"No run of this cluster found in {self.place}",
                hint="start one with kedge apply, or name the place of runs with --state",
            )
        undoes = self.record_of(runs[-1]).undoes
        return next((each for each in runs if each.name == undoes), runs[-1])

    def rollback_of(self, run: Run) -> Run | None:
        """The latest rollback of a run, unless it was cancelled or itself rolled back."""
        undone = (RunState.CANCELLED, RunState.ROLLED_BACK)
        rollbacks = [e for e in self.all() if self.record_of(e).undoes == run.name]
        return next((e for e in reversed(rollbacks) if self.state_of(e) not in undone), None)

    def state_of(self, run: Run) -> RunState:
        """The state of a run, its rollback considered."""
        rollback = self.rollback_of(run)
        if rollback is None:
            record = self.record_of(run)
            # A run that was interrupted or paused sets its throttles anew: moves have started.
            again = record.state is RunState.THROTTLING and record.started
            return RunState.MOVING if again else record.state
        ended = self.record_of(rollback).state in ENDED
        return RunState.ROLLED_BACK if ended else RunState.ROLLING_BACK

    def own_settings(self) -> frozenset[Setting]:
        """Every throttle value that a run of this cluster has set and not removed."""
        return frozenset(setting for run in self.all() for setting in self.record_of(run).own)


def _by_id(runs: Sequence[Run], run_id: str) -> Run:
    fitting = [each for each in runs if each.name == run_id] or [
        each for each in runs if run_id in each.name
    ]
    if len(fitting) != 1:
        raise InvalidRequest(
            f"{len(fitting) or 'No'} {'runs fit' if fitting else 'run fits'} {run_id!r}",
            hint="kedge runs lists them",
        )
    return fitting[0]


def new_run_name(record: RunRecord) -> str:
    """An id that no other run has, and that sorts by the time of the beginning."""
    moment = datetime.fromtimestamp(record.begun_at, UTC).strftime("%Y-%m-%dT%H-%M-%S.%fZ")
    return f"{moment}-{token_hex(2)}"


def new_record(
    cluster_id: str,
    *,
    kind: RunKind = RunKind.APPLY,
    undoes: str | None = None,
    plan_file: str = "",
    rate: int | None,
    each_way: int,
) -> RunRecord:
    """The record of a run that begins now."""
    now = time.time()
    return RunRecord(cluster_id, kind, undoes, plan_file, rate, each_way, begun_at=now)
