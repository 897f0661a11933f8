"""What brokers measured of a topic as a whole, by broker and interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kedge.metrics.attribution.counters import counter_steps
from kedge.metrics.attribution.grid import Grid, Steps
from kedge.metrics.attribution.leadership import Leadership
from kedge.metrics.attribution.lost_bytes import lost_steps
from kedge.metrics.attribution.rates import rate_steps
from kedge.metrics.attribution.samples import Floats, TopicSamples
from kedge.metrics.measurement import Series


@dataclass(frozen=True, slots=True)
class Totals:
    """Amounts of a topic by broker (rows) and interval."""

    brokers: list[int]
    amount: Floats
    covered_ms: Floats  # by interval: the time in which they came about
    from_rates: bool

    @property
    def of_topic(self) -> Floats:
        """The sum over brokers."""
        return self.amount.sum(axis=0)


def totals(
    samples: TopicSamples,
    counter: Series,
    rate: Series,
    grid: Grid,
    leaders: Leadership | None,
) -> Totals | None:
    """From counters, else from rates; None where no broker exports either."""
    chosen = counter if len(samples[counter]) else rate
    points = samples[chosen]
    if not len(points):
        return None
    brokers = [int(broker) for broker in np.unique(points.broker)]
    lost = np.zeros((len(brokers), grid.count))
    if chosen is counter:
        steps = counter_steps(samples, counter, brokers)
        lost = grid.spread(lost_steps(samples, counter, brokers, leaders), len(brokers))
    else:
        steps = rate_steps(samples, rate, brokers, leaders)
    first, last = int(points.ts.min()), int(points.ts.max())
    amount = grid.spread(steps, len(brokers))
    known = [_known_span(samples, broker) for broker in brokers]
    covered = _covered(amount, lost, steps, grid, (first, last), known)
    return Totals(brokers, amount, covered, chosen is rate)


def _known_span(samples: TopicSamples, broker: int) -> tuple[int, int]:
    """The first and the last moment at which it is known whether a broker was up."""
    every = [
        times[broker]
        for times in (samples.answered, samples.silent)
        if broker in times and len(times[broker])
    ]
    if not every:
        return _FUTURE, -_FUTURE
    return min(int(ts[0]) for ts in every), max(int(ts[-1]) for ts in every)


_FUTURE: Final = 2**60


def _covered(
    amount: Floats,
    lost: Floats,
    steps: Steps,
    grid: Grid,
    span: tuple[int, int],
    known: list[tuple[int, int]],
) -> Floats:
    """The time of each interval that was measured, so that amount over time is the sum of rates.

    Brokers are sampled at different moments, so that the first and the last interval of each begin
    and end at others. While a broker was known to be up or down, a series of it that is not there
    was 0, and was measured all the same. What was lost with a counter is in no amount, so the time
    is shorter by as much.
    """
    first = min(span[0], int(steps.start.min())) if len(steps.start) else span[0]
    last = span[1]
    own = np.zeros_like(amount)
    for row, (known_from, known_to) in enumerate(known):
        mine = steps.row == row
        begin = int(steps.start[mine].min()) if mine.any() else first
        end = int(steps.end[mine].max()) if mine.any() else last
        own[row] = grid.overlap(max(first, min(begin, known_from)), min(last, max(end, known_to)))
    whole = amount + lost
    per_second = np.divide(whole, own, out=np.zeros_like(amount), where=own > 0).sum(axis=0)
    total = amount.sum(axis=0)
    return np.divide(total, per_second, out=own.max(axis=0), where=(per_second > 0) & (total > 0))
