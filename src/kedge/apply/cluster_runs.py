"""Keeps runs in the cluster that they are about, so that any machine can continue them.

The records are in `run_records`, who may write them is in `ownership`. A run is begun in one
transaction, its plan and its first line together; each further line is committed before the action
that it describes. Of runs that have ended the last `KEPT` stay; older ones are removed when a run
begins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast
from uuid import uuid4

from kedge.apply.guarded_cluster import GuardedCluster
from kedge.apply.ownership import Ownership, Timing
from kedge.apply.run_port import OwnerSeen, Run, RunStore, new_run_name
from kedge.apply.run_records import REQUEST, RunImage, line_entries, plan_entries
from kedge.cluster.log_port import ClusterClock, FencedLog, LogEntry
from kedge.cluster.port import Cluster
from kedge.errors import JournalDamaged
from kedge.execution import ENDED, RunRecord, RunState
from kedge.execution.journal import begun, entered
from kedge.plan import Plan, plan_to_json

KEPT = 50  # runs that have ended


@dataclass(frozen=True)
class ClusterRun:
    """One run in the cluster."""

    name: str
    _store: ClusterRuns = field(repr=False, compare=False)
    clock: Callable[[], float] = field(default=time.time, compare=False)

    def now(self) -> float:
        """The time that the journal gets."""
        return self.clock()

    def plan(self) -> Plan:
        """The plan as it was reviewed."""
        return self._store.image_of(self).plan()

    def record(self) -> RunRecord:
        """The record that the journal gives."""
        return self._store.image_of(self).record()

    def write(self, line: bytes) -> None:
        """Append a line to the journal; committed when this returns."""
        self._store.write(self, line)

    def enter(self, state: RunState, *, moved: int | None = None) -> None:
        """Write that the run enters a state."""
        self.write(entered(state, at=self.now(), moved=moved))

    def send_request(self, line: bytes) -> None:
        """Append a request to the process that carries the run out; any process may send it."""
        self._store.send_request(self, line)

    def requests(self) -> list[bytes]:
        """Every request that was sent to the run, oldest first."""
        return self._store.requests_of(self)


class ClusterRuns(RunStore):
    """The runs of one cluster, in a log that the cluster keeps."""

    def __init__(
        self,
        log: FencedLog,
        cluster_id: str,
        *,
        take_over: bool = False,
        on_note: Callable[[str], None] = lambda _: None,
        timing: Timing | None = None,
    ) -> None:
        self._log_name, self._take_over, self._on_note = log.name, take_over, on_note
        self._ownership = Ownership(log, on_note, timing)
        self._noted: set[str] = set()
        self.cluster_id = cluster_id

    @property
    def place(self) -> str:
        """The log."""
        return self._log_name

    def clock(self) -> ClusterClock | None:
        """The clock of a lab."""
        return self._ownership.clock()

    def close(self) -> None:
        """Close the connections to the log."""
        self._ownership.close()

    # ---- reading --------------------------------------------------------------------------------

    def all(self) -> list[ClusterRun]:
        """Every run, oldest first; runs that cannot be read are named in a note."""
        return [ClusterRun(image.name, self) for image in self._images() if self._is_whole(image)]

    def chosen(self, run_id: str | None) -> Run:
        """As the port says; the latest run is never passed over because it is damaged."""
        images = self._images()
        if run_id is None and images:
            images[-1].record()
        return super().chosen(run_id)

    def record_of(self, run: Run) -> RunRecord:
        """The record of a run; it is kept until the journal grows."""
        return run.record()

    def image_of(self, run: Run) -> RunImage:
        """What the log has of a run."""
        self._refresh()
        found = self._ownership.image.run(run.name)
        if found is None:
            raise JournalDamaged(
                f"Run {run.name} is no longer in {self._log_name}", hint="kedge runs lists runs"
            )
        return found

    def _refresh(self) -> None:
        # What the owner has not written itself does not concern its journals.
        if not self._ownership.is_held:
            self._ownership.refresh()

    def _images(self) -> list[RunImage]:
        self._refresh()
        return self._ownership.image.runs()

    def _is_whole(self, image: RunImage) -> bool:
        try:
            image.record()
        except JournalDamaged as damaged:
            if image.name not in self._noted:
                self._noted.add(image.name)
                self._on_note(f"{self._log_name}: {damaged}")
            return False
        return True

    def owner(self) -> OwnerSeen | None:
        """The process that has the lease, and when the cluster stored it."""
        self._refresh()
        lease = self._ownership.image.lease
        return None if lease is None or lease.released else OwnerSeen(str(lease.owner), lease.at)

    def has_process(self) -> bool:
        """Whether a process has the lease and renews it."""
        self._refresh()
        return self._ownership.is_leased

    # ---- acting ---------------------------------------------------------------------------------

    def begin(self, plan: Plan, record: RunRecord) -> ClusterRun:
        """A new run: its plan and the first line of its journal, in one transaction."""
        name = new_run_name(record)
        first = line_entries(name, 0, begun(record))
        entries = [*self._removals(), *plan_entries(name, plan_to_json(plan)), *first]
        self._ownership.append(entries, name)
        return ClusterRun(name, self)

    def write(self, run: ClusterRun, line: bytes) -> None:
        """Commit a line of a journal."""
        number = self.image_of(run).next_line
        self._ownership.append(line_entries(run.name, number, line), run.name)

    def _removals(self) -> list[LogEntry]:
        """Tombstones for the oldest runs that have ended and left nothing behind."""
        runs = [image for image in self._images() if self._is_whole(image)]
        over = [
            image
            for image in runs[: max(0, len(runs) - KEPT + 1)]
            if image.record().state in ENDED and not image.record().lease
        ]
        return [LogEntry(key, None) for image in over for key in sorted(image.keys)]

    @contextmanager
    def held(self, *, patient: bool = True) -> Generator[None]:
        """No other process acts on the cluster's runs within the block, on whatever machine."""
        self._ownership.acquire(take_over=self._take_over, patient=patient)
        try:
            yield
        finally:
            self._ownership.release()

    def guarded(self, cluster: Cluster) -> Cluster:
        """The cluster, with a transaction before every change."""
        return cast("Cluster", GuardedCluster(cluster, self._ownership))

    # ---- requests -------------------------------------------------------------------------------

    def send_request(self, run: ClusterRun, line: bytes) -> None:
        """Write a request to a run."""
        self._ownership.send(LogEntry(f"{REQUEST}/{run.name}/{uuid4().hex}", line.rstrip(b"\n")))

    def requests_of(self, run: ClusterRun) -> list[bytes]:
        """The requests to a run, by their offsets."""
        self._ownership.refresh()
        found = self._ownership.image.run(run.name)
        return [] if found is None else [line for _, line in sorted(found.requests.values())]
