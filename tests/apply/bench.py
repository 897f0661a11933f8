"""A cluster in memory whose moves end when a test says so, with a plan and its runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kedge.apply import Executor, Outcome, Pacing, RunFiles, RunOptions, Runs, new_record, preview
from kedge.apply.throttles import present_throttles
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation, TopicDescription
from kedge.execution import Lease, Limits, Progress, RunKind
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Plan, Reassignment
from tests.cluster.faulty import FaultyCluster

B1, B2, B3, B4 = map(BrokerId, (1, 2, 3, 4))
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
EVERYWHERE = Lease({str(b): {} for b in (1, 2, 3, 4)}, {"t": {}})


class Killed(BaseException):
    """The process dies here."""


def die() -> None:
    raise Killed


class Bench:
    """A cluster with a topic on brokers 1 to 3, and a plan that brings broker 4 in.

    Runs go through `faulty`, which passes calls on to the cluster until a test adds faults.
    """

    def __init__(self, state: Path, cluster: MemoryCluster | None = None) -> None:
        self.cluster = cluster or MemoryCluster(4)
        self.faulty = FaultyCluster(self.cluster)
        self.cluster.create_topics([TopicCreation("t", assignment={0: (B1, B2), 1: (B2, B3)})])
        self.cluster.hold_moves = True
        self.runs = Runs(state, "memory")
        entries = (Reassignment.anywhere(T0, (B4, B2)), Reassignment.anywhere(T1, (B3, B4)))
        self.plan = Plan(entries, {T0: (B1, B2), T1: (B2, B3)}, cluster_id="memory")
        self.progress: list[Progress] = []
        self.notes: list[str] = []

    def begin(
        self, plan: Plan | None = None, rate: int | None = 1000, kind: RunKind = RunKind.APPLY
    ) -> RunFiles:
        record = new_record("memory", kind=kind, rate=rate, each_way=1)
        return self.runs.begin(plan or self.plan, record)

    def run(self, files: RunFiles, on_wait: Callable[[], None], stopping: bool = False) -> Outcome:
        return self.executor(files, self.pacing(on_wait, stopping=stopping)).carry_out()

    def pacing(self, on_wait: Callable[[], None], *, stopping: bool = False) -> Pacing:
        return Pacing(
            sleep=lambda _: on_wait(),
            clock=lambda: float(len(self.progress)),
            stopping=lambda: stopping,
            on_progress=self.progress.append,
            on_note=self.notes.append,
            rise_s=0.0,  # rates are set at once, as in a lab
        )

    def executor(self, files: RunFiles, pacing: Pacing) -> Executor:
        record = files.record()
        judged = preview(
            self.cluster,
            files.plan(),
            RunOptions(Limits(record.rate, record.each_way)),
            kind=record.kind,
            own=self.runs.own_settings(),
            log_dirs_before=record.log_dirs,
        )
        return Executor(self.faulty.port, files, judged, pacing)

    def throttles(self) -> Lease:
        return present_throttles(self.cluster, EVERYWHERE)[0]

    def replicas(self) -> dict[int, tuple[BrokerId, ...]]:
        topic = self.cluster.describe_topics(["t"])["t"]
        assert isinstance(topic, TopicDescription)
        return topic.replicas()

    def log_dir(self, tp: TopicPartition, broker: BrokerId) -> str:
        (answer,) = self.cluster.log_dirs([broker], ["t"]).values()
        assert isinstance(answer, tuple)
        (path,) = (
            each.path
            for each in answer
            for stored in each.replicas
            if stored.tp == tp and not stored.future
        )
        return path
