"""Looks for differences between the two controllers, and makes what it finds small."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kedge.store import MemoryEnsemble, MemoryStore
from tests.conformance.scenarios import run_scenario
from tests.oracle.generator import scenario
from tests.oracle.kafka_side import Oracle
from tests.oracle.quirks import why

Case = dict[str, Any]
Asked = Callable[[Sequence[Case]], list[Case]]


@dataclass(frozen=True)
class Finding:
    """A scenario that the two controllers play differently."""

    seed: int
    case: Case  # with Kafka's answers
    difference: str

    @property
    def reason(self) -> str | None:
        """Why they may differ, if that is known."""
        return why(self.case, self.difference)


def compare(case: Case) -> str | None:
    """The first difference between Kedge's controller and a case with Kafka's answers."""
    ensemble = MemoryEnsemble()
    if "failed" in case:
        return f"Kafka failed: {case['failed']}"
    try:
        return run_scenario(case, lambda: MemoryStore(ensemble))
    except Exception:
        return "crashed: " + traceback.format_exc(limit=-3).replace("\n", " | ")


def hunt(kafka: Oracle, seeds: Iterable[int], *, at_once: int = 50) -> Iterator[Finding | None]:
    """Play the scenarios of these seeds on both; None where they agree."""
    waiting = list(seeds)
    while waiting:
        batch, waiting = waiting[:at_once], waiting[at_once:]
        cases = kafka.play_all([scenario(seed) for seed in batch])
        for seed, case in zip(batch, cases, strict=True):
            difference = compare(case)
            yield None if difference is None else Finding(seed, case, difference)


# ---- making it small ---------------------------------------------------------------------------


def minimise(kafka: Oracle, finding: Finding) -> Finding:
    """The same difference with as little around it as can be."""
    while smaller := first_that_differs(kafka, finding):
        finding = smaller
    return finding


def first_that_differs(kafka: Oracle, finding: Finding) -> Finding | None:
    for cases in batches(list(smaller_inputs(finding.case["input"])), 12):
        for case in kafka.play_all(cases):
            difference = compare(case)
            if difference is None:
                continue
            smaller = Finding(finding.seed, case, difference)
            if smaller.reason == finding.reason and kind(difference) == kind(finding.difference):
                return smaller
    return None


def kind(difference: str) -> str:
    """Crashes stay crashes: a smaller scenario must not be about something else."""
    return "crashed" if difference.startswith("crashed") else "differs"


def smaller_inputs(given: Case) -> Iterator[Case]:
    """Everything that is one thing less, the largest cuts first."""
    steps: list[Case] = given["steps"]
    for count in (4, 2, 1):
        for at in range(len(steps) - count, -1, -1):
            yield {**given, "steps": steps[:at] + steps[at + count :]}
    for key in ("config", "ibp", "delete_topics", "reassign_partitions"):
        if key in given:
            yield {k: v for k, v in given.items() if k != key}
    if "preferred_replica_election" in given:
        yield {k: v for k, v in given.items() if k != "preferred_replica_election"}
    yield from without_one(given, "topics")
    for broker in given["brokers"]:
        yield {**given, "brokers": [b for b in given["brokers"] if b != broker]}
    for at, step in enumerate(steps):
        for smaller in smaller_steps(step):
            yield {**given, "steps": [*steps[:at], smaller, *steps[at + 1 :]]}


def without_one(given: Case, key: str) -> Iterator[Case]:
    """One topic less, or one partition less."""
    topics: Case = given.get(key, {})
    for topic, partitions in topics.items():
        yield {**given, key: {t: ps for t, ps in topics.items() if t != topic}}
        for partition in partitions if len(partitions) > 1 else ():
            left = {p: v for p, v in partitions.items() if p != partition}
            yield {**given, key: {**topics, topic: left}}


def smaller_steps(step: Case) -> Iterator[Case]:
    for key in ("plan", "partitions", "errors"):
        value = step.get(key)
        if isinstance(value, dict) and len(value) > 1:
            for name in value:
                yield {**step, key: {k: v for k, v in value.items() if k != name}}
        if isinstance(value, list) and len(value) > 1:
            for name in value:
                yield {**step, key: [v for v in value if v != name]}


def batches(things: list[Case], size: int) -> Iterator[list[Case]]:
    for start in range(0, len(things), size):
        yield things[start : start + size]
