"""Plans beside their bounds, and beside what Kafka's own `--generate` makes of the same cluster.

One default setting for all rows. Seeds are told in the page; the search was not tuned on them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.balance.clusters import Cluster, cluster
from bench.balance.peers import INSTALL, Generated, has_kafka_tools, kafka_generate, kafka_tools
from bench.report import BenchRow, BenchSection, Timing, readable
from kedge.balance.bounds import Bounds, bounds_of
from kedge.balance.goals.problem import Problem, broker_loads
from kedge.balance.search.solution import Solution
from kedge.balance.search.solver import search
from kedge.balance.warm_up import warm_up

SEED = 61_409
CASES = (
    *(("S", scenario, 0.02) for scenario in ("skew", "grow", "drain", "rf", "kafka")),
    *(("M", s, 0.02) for s in ("skew", "grow", "drain", "rf", "mixed", "jumbo", "kafka", "jbod")),
    ("L", "skew", 0.10),
    *(("L", scenario, 0.05) for scenario in ("skew", "grow", "drain", "rf")),
    ("L", "skew", 0.01),
)
SIZES_FOR_TOOLS, FORCED = ("S", "M"), ("drain", "rf")


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """One plan and what it took, waves not included."""

    bounds: Bounds
    found: Solution
    seconds: float


def run(seed: int = SEED, *, sizes: tuple[str, ...] = ("S", "M", "L")) -> BenchSection:
    """Every case of these sizes once, single run, compiled code in the cache."""
    warm_up()
    cases = [case for case in CASES if case[0] in sizes]
    made = [cluster(size, scenario, seed) for size, scenario, _ in cases]
    theirs = kafka_generate(made)
    rows = tuple(_row(case, one, peer) for case, one, peer in zip(cases, made, theirs, strict=True))
    return BenchSection(
        "balance",
        "Balance",
        "S is 30 brokers × 2,000 partitions in 3 racks, M 200 × 40,000 in 5, L 1,000 × 200,000 in "
        f"20; clusters from seed {seed}, one default setting, one run each. Time is bounds and "
        "search. In brackets: largest load of disk, in, out and cpu ÷ the best possible, bytes "
        "moved ÷ the certified bound, replica moves beyond forced ones, and the same of the "
        "peer. The peer is what `kafka-reassign-partitions --generate` of Kafka 3.9.1 computes, "
        "in a warm JVM; it looks at no load and at no present place.",
        rows,
        (_about_kafka_tools(),),
    )


def figures(section: BenchSection) -> str:
    """The section for a terminal, each row with the figures behind it."""
    lines = [section.title]
    for row in section.rows:
        ratio = row.ours.best / row.theirs.best
        times = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"
        lines += [
            f"{row.what}: {readable(row.ours.best)}, {times} × the time of {row.peer} "
            f"({readable(row.theirs.best)})",
            *(f"    {part}" for part in row.note.split("; ")),
        ]
    return "\n".join([*lines, *section.notes])


def measured(problem: Problem, *, seed: int = 0) -> Measured:
    """Bounds and search, timed together."""
    before = time.perf_counter()
    bounds = bounds_of(problem)
    found = search(problem, bounds, seed=seed)
    return Measured(bounds, found, time.perf_counter() - before)


def _row(case: tuple[str, str, float], one: Cluster, peer: Generated) -> BenchRow:
    size, scenario, tolerance = case
    problem = one.problem(tolerance)
    ours = measured(problem)
    note = f"{_figures(ours)}; peer: {_peer_figures(problem, ours.bounds, peer)}"
    if size in SIZES_FOR_TOOLS and scenario not in FORCED and has_kafka_tools():
        tools = kafka_tools(one)
        told = _peer_figures(problem, ours.bounds, tools)
        note += f"; kafka-tools: {told}, {readable(tools.seconds)}"
    took, theirs = Timing(ours.seconds, ours.seconds), Timing(peer.seconds, peer.seconds)
    return BenchRow(f"{size} {scenario} {tolerance:.0%}", took, "`--generate`", theirs, note)


def _about_kafka_tools() -> str:
    if not has_kafka_tools():
        return f"kafka-tools is not installed (`{INSTALL}`)."
    return (
        "kafka-tools is `kafka-assigner balance --types size rackaware` of 0.1.9, which knows of "
        "disk alone. It has no single command for what drain and rf ask for, and for every broker "
        "it looks at every partition: L is left out."
    )


def _figures(one: Measured) -> str:
    beyond = one.found.replica_moves - one.bounds.mandatory_moves
    ratio = one.found.bytes_moved / one.bounds.bytes_lower_bound
    missed = "" if one.found.balanced else ", tolerance missed"
    return f"{_reached(one.found.reached)}, bytes {ratio:.4f}, {beyond:,} moves{missed}"


def _peer_figures(problem: Problem, bounds: Bounds, peer: Generated) -> str:
    """The peer keeps replication factors: where more are wanted, it is measured with fewer."""
    loads = broker_loads(problem, peer.replicas)
    reached = (loads / (bounds.level * problem.capacity)).max(axis=0)
    known = (peer.replicas[:, :, None] == problem.initial[:, None, :]).any(axis=2)
    copied = ((peer.replicas >= 0) & ~known).sum(axis=1)
    ratio = (copied * problem.size).sum() / bounds.bytes_lower_bound
    return f"{_reached(reached)}, bytes {ratio:.1f}"


def _reached(ratios: npt.NDArray[np.float64]) -> str:
    return " ".join(f"{ratio:.3f}" for ratio in ratios)
