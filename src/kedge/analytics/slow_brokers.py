"""Brokers that are slow: their latency or flush time stands out of their history and their peers.

For each measurement the recent median of a broker is compared by robust z-scores,

    z = (recent median - median of the reference) / spread of the reference

with two references: its own values before the recent ones, and the recent medians of the other
brokers. The spread is the scaled median absolute deviation, and at least a tenth of the median, so
that a very even history does not make noise stand out. From z = 3.5 on (Iglewicz and Hoaglin) and
half again as slow, a broker stands out.

| stands out of    | verdict             | meaning                                                |
|------------------|---------------------|--------------------------------------------------------|
| both             | slow                | something happened to this broker                      |
| peers alone      | slower than peers   | it always is: weaker hardware, or more load            |
| history alone    | slower than before  | its peers are slow too: the load, or something shared  |

One reference that is missing (fewer than 12 values before, or fewer than 2 peers) leaves the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from kedge.analytics.robust import median, spread
from kedge.model.columns import Floats

MEASUREMENTS = ("produce_latency_ms", "fetch_latency_ms", "flush_time_ms")
Z_MIN = 3.5
RATIO_MIN = 1.5
SPREAD_SHARE = 0.1
SPREAD_MS = 0.1  # milliseconds that no measurement is exact to
HISTORY_MIN, PEERS_MIN = 12, 2


class Verdict(StrEnum):
    """What a broker stands out of."""

    SLOW = "slow"
    THAN_PEERS = "slower than peers"
    THAN_BEFORE = "slower than before"


@dataclass(frozen=True, slots=True)
class BrokerHealth:
    """The measurements of one broker, ascending in time; NaN where there is none."""

    broker: int
    times: Floats
    values: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class SlowBroker:
    """One measurement of a broker that stands out; milliseconds."""

    broker: int
    measurement: str
    verdict: Verdict
    recent: float
    before: float | None
    peers: float | None
    z_before: float | None
    z_peers: float | None

    @property
    def why(self) -> str:
        """The sentence of reasons."""
        name = self.measurement.removesuffix("_ms").replace("_", " ")
        parts = [f"{name} of broker {self.broker} is {self.recent:.3g} ms"]
        if self.before is not None:
            parts.append(f"{self.before:.3g} ms before")
        if self.peers is not None:
            parts.append(f"{self.peers:.3g} ms on its peers")
        return ", ".join(parts)


def slow_brokers(
    brokers: Sequence[BrokerHealth], *, recent_s: float, measurements: Sequence[str] = MEASUREMENTS
) -> list[SlowBroker]:
    """The brokers of one cluster that stand out in the last `recent_s` seconds, the worst first."""
    if not brokers:
        return []
    end = max((float(each.times[-1]) for each in brokers if len(each.times)), default=0.0)
    found: list[SlowBroker] = []
    for name in measurements:
        recent = {each.broker: _median_of(each, name, end - recent_s, end) for each in brokers}
        for each in brokers:
            judged = _judge(each, name, recent, end - recent_s)
            if judged is not None:
                found.append(judged)
    return sorted(found, key=_rank)


def _rank(one: SlowBroker) -> tuple[int, float, int]:
    return (list(Verdict).index(one.verdict), -max(one.z_before or 0, one.z_peers or 0), one.broker)


def _median_of(each: BrokerHealth, name: str, start: float, end: float) -> float:
    inside = (each.times > start) & (each.times <= end) & np.isfinite(each.values[name])
    return median(each.values[name][inside])


def _judge(
    each: BrokerHealth, name: str, recent: Mapping[int, float], start: float
) -> SlowBroker | None:
    now = recent[each.broker]
    if not np.isfinite(now):
        return None
    earlier = each.values[name][(each.times <= start) & np.isfinite(each.values[name])]
    others = np.array([value for broker, value in recent.items() if broker != each.broker])
    others = others[np.isfinite(others)]
    before = earlier if len(earlier) >= HISTORY_MIN else None
    peers = others if len(others) >= PEERS_MIN else None
    out_of_before, out_of_peers = (_stands_out(now, part) for part in (before, peers))
    verdict = _verdict(out_of_before, out_of_peers)
    if verdict is None:
        return None
    return SlowBroker(
        each.broker,
        name,
        verdict,
        now,
        before=None if before is None else median(before),
        peers=None if peers is None else median(peers),
        z_before=None if before is None else robust_z(now, before),
        z_peers=None if peers is None else robust_z(now, peers),
    )


def _verdict(before: bool | None, peers: bool | None) -> Verdict | None:
    if before is not False and peers is not False and (before or peers):
        return Verdict.SLOW
    if peers:
        return Verdict.THAN_PEERS
    return Verdict.THAN_BEFORE if before else None


def _stands_out(value: float, reference: Floats | None) -> bool | None:
    """Whether a value is far above a reference; None without one."""
    if reference is None:
        return None
    return robust_z(value, reference) >= Z_MIN and value >= RATIO_MIN * median(reference)


def robust_z(value: float, reference: Floats) -> float:
    """How many spreads a value is above the median of a reference."""
    middle = median(reference)
    return (value - middle) / max(spread(reference), SPREAD_SHARE * abs(middle), SPREAD_MS)
