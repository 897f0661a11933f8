"""What brokers measured of a topic as a whole, by broker and interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kedge.metrics.attribution.counters import counter_steps
from kedge.metrics.attribution.grid import Grid, Steps
from kedge.metrics.attribution.leadership import Leadership
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
    if chosen is counter:
        steps = counter_steps(samples, counter, brokers)
    else:
        steps = rate_steps(samples, rate, brokers, leaders)
    first, last = int(points.ts.min()), int(points.ts.max())
    amount = grid.spread(steps, len(brokers))
    covered = _covered(amount, steps, grid, (first, last), 2 * points.spacing())
    return Totals(brokers, amount, covered, chosen is rate)


def _covered(amount: Floats, steps: Steps, grid: Grid, span: tuple[int, int], near: int) -> Floats:
    """The time of each interval that was measured, so that amount over time is the sum of rates.

    Brokers are sampled at different moments: the first and the last interval of each begin and end
    at others. A series that is born later or dies earlier was 0 and measured all the same.
    """
    first = min(span[0], int(steps.start.min())) if len(steps.start) else span[0]
    last = span[1]
    own = np.zeros_like(amount)
    for row in range(len(amount)):
        mine = steps.row == row
        begin = int(steps.start[mine].min()) if mine.any() else first
        end = int(steps.end[mine].max()) if mine.any() else last
        own[row] = grid.overlap(
            first if begin > first + near else begin, last if end < last - near else end
        )
    per_second = np.divide(amount, own, out=np.zeros_like(amount), where=own > 0).sum(axis=0)
    total = amount.sum(axis=0)
    return np.divide(total, per_second, out=own.max(axis=0), where=per_second > 0)
