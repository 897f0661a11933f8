"""Decides the rate of a throttle that adapts to how the cluster copes with it.

The rate starts at the low end of its range. It rises while the cluster copes with it, and is halved
when there is trouble: partitions outside of the run that are not in sync, partitions of the run
that fall below `min.insync.replicas`, or brokers that respond late. A rate that was set is given
time before it rises, and one that was halved before it is halved again; trouble right after a rise
halves at once.

    range 10-100 MB/s   10 → 15 → 22.5 → 33.7 (broker 3 responds in 2.0 s) → 16.9 → 25.3 …

It never rises without evidence: every signal must have been read after the last change, and the
moves must have used most of the rate. A throttle that does not limit the moves tells nothing about
a higher one. A rate at which the moves cannot end is raised as far as the range allows, unless
there is trouble.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from kedge.errors import InvalidRequest
from kedge.execution.preconditions import counted, named
from kedge.execution.steering import RateRange
from kedge.model import BrokerId, TopicPartition
from kedge.model.parse_amounts import parse_rate

DEFAULT_RANGE = RateRange(10_000_000, 200_000_000)
RISE = 1.5
RISE_INTERVAL_S = 15.0
CUT_INTERVAL_S = 10.0
LATENCY_MAX_S = 1.0
USED_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Signals:
    """How a cluster copes with a rate.

    `at` is when the oldest signal was read, None where one is missing; `latencies` are seconds by
    broker; `late_read_s` are the seconds by which reading the cluster took longer than usual;
    `used` is the rate of the busiest broker since the last change; `needed` is the smallest rate at
    which the moves under way end. `slow` is a time out of its bounds, as a metrics system reports
    it, and `unread` why it reports none.
    """

    at: float | None
    under_min_isr: tuple[TopicPartition, ...] = ()
    under_replicated: tuple[TopicPartition, ...] = ()
    brokers_down: tuple[BrokerId, ...] = ()
    latencies: Mapping[BrokerId, float] = field(default_factory=dict[BrokerId, float])
    late_read_s: float = 0.0
    used: float = 0.0
    needed: int = 0
    slow: str = ""
    unread: str = ""

    @property
    def trouble(self) -> str:
        """The worst of what is wrong, as a phrase; empty where nothing is."""
        if self.under_min_isr:
            below = counted(self.under_min_isr, "partition")
            return f"{below} below min.insync.replicas ({named(self.under_min_isr)})"
        if self.brokers_down:
            return f"broker {', '.join(map(str, self.brokers_down))} down"
        if self.under_replicated:
            short = counted(self.under_replicated, "under-replicated partition")
            return f"{short} ({named(self.under_replicated)})"
        slow = max(self.latencies.items(), key=lambda each: each[1], default=None)
        if slow is not None and slow[1] > LATENCY_MAX_S:
            return f"broker {slow[0]} responds in {slow[1]:.1f} s"
        if self.late_read_s > LATENCY_MAX_S:
            return f"reading the cluster took {self.late_read_s:.1f} s longer than before"
        return self.slow


class Decision(NamedTuple):
    """The rate from now on; `why` is empty where it stays."""

    rate: int
    why: str = ""


def next_rate(
    within: RateRange,
    rate: int,
    changed_at: float,
    signals: Signals,
    now: float,
    *,
    halved_at: float = -inf,
) -> Decision:
    """The next rate, given the present one, since when it is set, and when one was last halved."""
    kept = min(within.high, max(within.low, rate))
    if kept != rate:
        return Decision(kept, "outside of the range")
    if trouble := signals.trouble:
        halved = max(within.low, rate // 2)
        may_halve = halved < rate and now - halved_at >= CUT_INTERVAL_S
        return Decision(halved, trouble) if may_halve else _stay(rate)
    if signals.at is None or signals.at <= changed_at:
        return _stay(rate)
    if signals.needed > rate < within.high:
        return Decision(min(within.high, signals.needed), "moves cannot end at less")
    risen = min(within.high, int(rate * RISE))
    if now - changed_at < RISE_INTERVAL_S or signals.used < USED_SHARE * rate or risen <= rate:
        return _stay(rate)
    return Decision(risen, "the cluster copes")


def _stay(rate: int) -> Decision:
    return Decision(rate)


def parse_throttle(text: str, option: str) -> tuple[int, RateRange | None]:
    """The rate of a throttle, and the range that it adapts in if it is `auto` or `auto:LOW-HIGH`.

    A throttle that adapts begins with the lowest rate.
    """
    mode, colon, amounts = text.strip().partition(":")
    if mode.lower() != "auto":
        return parse_rate(text, option), None
    if not colon:
        return DEFAULT_RANGE.low, DEFAULT_RANGE
    low, dash, high = amounts.partition("-")
    if not dash:
        raise InvalidRequest(f"{option}: {text!r} has no range", hint="write auto:10MB-100MB")
    found = RateRange(parse_rate(low, option), parse_rate(high, option))
    if found.low > found.high:
        raise InvalidRequest(
            f"{option}: {text!r} ends below its start", hint=f"write auto:{high}-{low}"
        )
    return found.low, found
