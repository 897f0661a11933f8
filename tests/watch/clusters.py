"""Clusters and proposals for tests of the loop, and a store that answers its effects in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kedge.model import (
    Assignment,
    Broker,
    BrokerId,
    BrokerState,
    Capacity,
    Snapshot,
    TopicPartition,
)
from kedge.plan import Plan, Reassignment
from kedge.watch.effects import (
    FindOtherProcess,
    LoadFindings,
    LoadProposals,
    MakePlan,
    ObserveRun,
    Predict,
    ReadPolicy,
    RecordSample,
    RunPhase,
    RunSeen,
    StartRun,
    StoreFindings,
    StoreProposal,
    TakeSample,
)
from kedge.watch.findings import Finding
from kedge.watch.loop import Looked, Memory, watch_once
from kedge.watch.planning import cost_of, plan_for
from kedge.watch.policy import Detection, Kind, Mode, Policy
from kedge.watch.proposals import Cost, Proposal
from kedge.watch.samples import Observed, Sample

GB = 10**9
NOON = 1_774_699_200.0  # 2026-03-28 12:00 UTC
TP = TopicPartition("orders", 0)
QUICK = Policy(
    mode=Mode.AUTO,
    detect=Detection(
        broker_down_for_s=60,
        under_replicated_for_s=60,
        windows=2,
        window_s=60,
        new_broker_after_s=60,
        leaders_away_for_s=60,
    ),
)


def ids(*brokers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, brokers))


def change(before: Sequence[int], after: Sequence[int], tp: TopicPartition = TP) -> Plan:
    return Plan((Reassignment(tp, ids(*after), ("any",) * len(after)),), {tp: ids(*before)})


def proposal(kind: Kind = Kind.BALANCE, plan: Plan | None = None, **changes: Any) -> Proposal:
    made = Proposal(
        f"p-{kind}",
        kind,
        NOON,
        ("why",),
        (),
        frozenset(ids(1, 2, 3, 4)),
        Cost(10 * GB, 1, seconds=200.0),
        plan=plan or change((1, 2), (3, 2)),
        changed_at=NOON,
    )
    return replace(made, **changes)


def observed(
    replicas: dict[TopicPartition, tuple[int, ...]] | None = None,
    *,
    at: float = NOON,
    brokers: Sequence[int] = (1, 2, 3, 4),
    dead: Sequence[int] = (),
    adding: dict[TopicPartition, tuple[int, ...]] | None = None,
    leaders: dict[TopicPartition, int] | None = None,
    size: int = 10 * GB,
) -> Observed:
    """A cluster whose live replicas are in sync and whose first one leads."""
    replicas = replicas or {TP: (1, 2)}
    rows = sorted(replicas)
    assignment = Assignment.from_mapping({tp: replicas[tp] for tp in rows})
    width = assignment.replicas.shape[1]
    joining = adding or {}

    def padded(lists: Sequence[Sequence[int]]) -> np.ndarray:
        matrix = np.full((len(lists), width), -1, np.int32)
        for row, each in enumerate(lists):
            matrix[row, : len(each)] = each
        return matrix

    in_sync = [
        [b for b in replicas[tp] if b not in dead and b not in joining.get(tp, ())] for tp in rows
    ]
    first = [
        (leaders or {}).get(tp, live[0] if live else -1)
        for tp, live in zip(rows, in_sync, strict=True)
    ]
    listed = [
        Broker(BrokerId(b), state=BrokerState.DEAD)
        if b in dead
        else Broker(BrokerId(b), capacity=Capacity(disk=1000.0 * GB))
        for b in brokers
    ]
    snapshot = Snapshot.of(
        listed,
        assignment,
        leader=np.array(first, np.int32),
        isr=padded(in_sync),
        adding=padded([joining.get(tp, ()) for tp in rows]),
        size=np.full(len(rows), size),
    )
    return Observed(at, snapshot)


@dataclass
class World:
    """A store and a cluster in memory, for one script after the other."""

    policy: Policy = QUICK
    now: Callable[[], Observed] = field(default=observed)
    history: list[Sample] = field(default_factory=list[Sample])
    proposals: dict[str, Proposal] = field(default_factory=dict[str, Proposal])
    runs: dict[str, RunSeen] = field(default_factory=dict[str, RunSeen])
    findings: tuple[Finding, ...] = ()
    waiting: tuple[tuple[str, str], ...] = ()
    started: list[str] = field(default_factory=list[str])
    effects: list[str] = field(default_factory=list[str])
    answer_start: Any = None
    other_process: bool = False
    memory: Memory = field(default_factory=Memory)

    def looks(self, times: int) -> Looked:
        """Run the script of so many samples; what the last one led to."""
        return [self.look() for _ in range(times)][-1]

    def look(self) -> Looked:
        """Run the script of one sample to its end."""
        script = watch_once(self.memory)
        answer: Any = None
        try:
            while True:
                effect = script.send(answer)
                self.effects.append(type(effect).__name__)
                answer = self.execute(effect)
        except StopIteration as end:
            return end.value

    def execute(self, effect: Any) -> Any:
        match effect:
            case ReadPolicy():
                return self.policy
            case TakeSample():
                return self.now()
            case RecordSample(sample):
                self.history.append(sample)
                return self.history
            case LoadProposals():
                return list(self.proposals.values())
            case LoadFindings():
                return self.findings
            case MakePlan():
                return plan_for(effect)
            case Predict():
                return cost_of(effect)
            case StoreProposal(each):
                old = self.proposals.get(each.id)
                if (old.version if old else 0) != effect.expected_version:
                    return False
                self.proposals[each.id] = each
                return True
            case StoreFindings(_, findings, waiting):
                self.findings, self.waiting = findings, waiting
                return None
            case FindOtherProcess():
                return self.other_process
            case StartRun(each, _):
                if self.answer_start is None:
                    self.started.append(each.id)
                    self.runs[each.id] = RunSeen(RunPhase.AT_WORK)
                return self.answer_start
            case ObserveRun(each):
                return self.runs.get(each.id, RunSeen(RunPhase.ABSENT))
            case _:
                raise AssertionError(effect)
