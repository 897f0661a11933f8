"""A well-behaved client of a lab while another one attacks it; and what topics cost by number.

| file      | what it is                                                        |
|-----------|-------------------------------------------------------------------|
| `wire`    | requests as bytes                                                 |
| `attacks` | what a hostile client does                                        |
| `client`  | a client that does nothing wrong, and how long it waits           |
| `labs`    | a lab in a process of its own, with a low limit on open files     |
"""

from __future__ import annotations

import os
import time

from bench.endpoint_attacks.attacks import Target, attacks, create_frame
from bench.endpoint_attacks.client import Waits, waits_at_rest, waits_during
from bench.endpoint_attacks.labs import lab_process
from bench.endpoint_attacks.wire import connected, exchange
from bench.report import BenchRow, BenchSection, Timing

_ROUNDS = 3
_REST_S = 3.0


def run() -> BenchSection:
    """Every attack on one lab, then topics in small and in large requests on another."""
    with lab_process() as target:
        with connected(target.port) as line:
            exchange(line, create_frame("t", 1))
        rest = _timing(waits_at_rest(target, _REST_S))
        rows = [
            BenchRow(
                f"p99 during: {attack.name}", _timing(waits_during(target, attack)), "at rest", rest
            )
            for attack in attacks()
        ]
    return BenchSection(
        "endpoint_attacks",
        "Endpoint under attack",
        "How long a client that asks every node of a lab in turn (DescribeCluster, Metadata) waits "
        "for its answers, 99 of 100 of them, while another client does what is named; beside "
        "the same at rest, in the same run. Both clients and the lab share the machine. The "
        "last row is the time per topic of a request for 4,000 topics beside that of one for "
        "1,000: 1 is linear.",
        (*rows, _topics()),
        notes=(f"Load average at the end: {os.getloadavg()[0]:.1f}.",),
    )


def _timing(waits: Waits) -> Timing:
    assert not waits.errors, waits.errors
    return Timing(waits.quantile(0.99), waits.quantile(0.99))


def _topics() -> BenchRow:
    small, large = (_per_topic(count) for count in (1_000, 4_000))
    note = f"{large.best * 4_000:.1f} s for 4,000"
    return BenchRow("CreateTopics of 4,000, per topic", large, "of 1,000", small, note)


def _per_topic(count: int) -> Timing:
    frame = create_frame("t", count)
    times: list[float] = []
    for _ in range(_ROUNDS):
        with lab_process() as target, connected(target.port, timeout_s=600) as line:
            began = time.perf_counter()
            exchange(line, frame)
            times.append((time.perf_counter() - began) / count)
    return Timing(sorted(times)[len(times) // 2], min(times))


__all__ = ["Target", "attacks", "lab_process", "run", "waits_during"]
