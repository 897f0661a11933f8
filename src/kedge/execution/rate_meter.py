"""Measures what links and disks deliver while a run moves data, from one observation to the next.

Observations are put together to windows of at least `WINDOW_S` seconds under one throttle. A window
counts for a broker if a copy was under way there all the time: else its average tells of pauses
between moves, and not of hardware. Of all windows that count, the fastest broker is kept.

A window in which the throttle may have been the limit counts for nothing: one in which some broker
used more than `HELD_BACK` of it. What producers write to the partitions that move counts too, as
Kafka takes it from the same rate.

    no throttle         broker 4 received 560 MB in 5 s, and more was under way     112 MB/s
    throttle 50 MB/s    broker 4 received 240 MB in 5 s                             nothing
    throttle 500 MB/s   broker 4 received 560 MB in 5 s                             112 MB/s

Bytes between log directories of one broker are measured apart from those between brokers: they
tell of disks alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kedge.execution.progress import Copies, Work
from kedge.model import BrokerId, TopicPartition

WINDOW_S = 5.0
HELD_BACK = 0.5  # of the throttle: above, it may have been the limit

WITHIN = "within"
End = tuple[str, BrokerId]  # "in", "out" or "within" a broker


class Throttles(NamedTuple):
    """Bytes per second that a run allows itself at a moment; None: as fast as the brokers can."""

    rate: int | None = None
    log_dir_rate: int | None = None


class _Copy(NamedTuple):
    """One copy: where it takes bandwidth, and how far it is."""

    ends: tuple[End, ...]
    arrived: int
    size: int


_Copying = Mapping[tuple[TopicPartition, str, BrokerId], _Copy]


@dataclass(slots=True)
class _Window:
    """What has passed through each end since the window began."""

    since: float
    throttles: Throttles
    through: Counter[End] = field(default_factory=Counter[End])
    replicated: Counter[BrokerId] = field(default_factory=Counter[BrokerId])  # as leader
    paused: set[End] = field(default_factory=set[End])


@dataclass(slots=True)
class RateMeter:
    """Gets each observation; `network` and `disk` are the most that was measured."""

    network: float | None = None
    disk: float | None = None
    _window: _Window | None = None
    _copying: _Copying = field(default_factory=dict[tuple[TopicPartition, str, BrokerId], _Copy])
    _sizes: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])

    def at(self, now: float, work: Work, throttles: Throttles) -> None:
        """What a run observes at a moment, each later than the one before."""
        copying = {key: copy for each in work.copies for key, copy in _copies(each, work)}
        window = self._window
        if window is not None and window.throttles == throttles:
            self._add(window, copying, work)
            if now - window.since >= WINDOW_S:
                self._judge(window, now - window.since)
                window = None
        else:
            window = None
        self._window = window or _Window(now, throttles)
        self._copying = copying
        self._sizes = {each.change.tp: each.size for each in work.copies}

    def _add(self, window: _Window, copying: _Copying, work: Work) -> None:
        """Count what has arrived since the last observation; note ends that had pauses."""
        flowing: set[End] = set()
        for key, copy in copying.items():
            before = self._copying.get(key)
            if before is None:
                continue
            for end in before.ends:  # the leader may have changed at the end of the move
                window.through[end] += max(0, copy.arrived - before.arrived)
            if before.arrived > 0 and before.arrived < copy.arrived < copy.size:
                flowing.update(before.ends)
        window.paused |= {end for copy in copying.values() for end in copy.ends} - flowing
        for each in work.copies:
            grown = each.size - self._sizes.get(each.change.tp, each.size)
            leader = work.leaders.get(each.change.tp)
            if leader is not None and grown > 0:
                others = len({*each.change.before, *each.change.after}) - 1
                window.replicated[leader] += grown * others

    def _judge(self, window: _Window, seconds: float) -> None:
        rate, log_dir_rate = window.throttles
        within = {end: n for end, n in window.through.items() if end[0] == WITHIN}
        between = {end: n for end, n in window.through.items() if end[0] != WITHIN}
        used = Counter(between)
        for leader, replicated in window.replicated.items():
            used["out", leader] += replicated
        if not _held_back(used, seconds, rate):
            self.network = _fastest(self.network, between, window.paused, seconds)
        if not _held_back(within, seconds, log_dir_rate):
            self.disk = _fastest(self.disk, within, window.paused, seconds)


def _held_back(through: Mapping[End, int], seconds: float, rate: int | None) -> bool:
    return rate is not None and max(through.values(), default=0) > HELD_BACK * rate * seconds


def _fastest(
    known: float | None, through: Mapping[End, int], paused: set[End], seconds: float
) -> float | None:
    rates = [count / seconds for end, count in through.items() if count and end not in paused]
    return max([*rates, *([] if known is None else [known])], default=None)


def _copies(each: Copies, work: Work) -> list[tuple[tuple[TopicPartition, str, BrokerId], _Copy]]:
    tp = each.change.tp
    leader = work.leaders.get(tp)
    source = [] if leader is None else [("out", leader)]
    return [
        *(
            ((tp, "in", broker), _Copy((("in", broker), *source), arrived, each.size))
            for broker, arrived in each.to_brokers.items()
        ),
        *(
            ((tp, WITHIN, broker), _Copy(((WITHIN, broker),), arrived, each.size))
            for broker, arrived in each.within_brokers.items()
        ),
    ]
