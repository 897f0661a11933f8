"""Detects findings: each has a value, the threshold that it exceeds, and a sentence.

| kind           | of         | value                                                           |
|----------------|------------|-----------------------------------------------------------------|
| hot_broker     | broker     | bytes in of its typical leader ÷ those of the median broker     |
| skewed_topic   | topic      | bytes in of the busiest partition ÷ an even share               |
| isr_flapping   | partition  | windows in which the ISR changed                                |
| growing        | partition  | growth over the observed time ÷ its size                        |
| disk_full_soon | broker     | days until its disk is full                                     |
| led_elsewhere  | broker     | partitions that prefer this broker and are led by another       |

The typical leader is the geometric mean of the leaders' rates: traffic is so uneven that the sum of
a broker depends on its largest partition. One large partition is a skewed topic; a hot broker is
one whose leaders are busy as a whole. A broker is hot only if it is also near the hottest of its
cluster, because smaller deviations are chance. With few leaders per broker, chance can still hide a
hot broker.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from kedge.model.arrow import Table, arrow

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds from which on a value is a finding."""

    hot_ratio: float = 1.8
    hot_near_hottest: float = 0.95  # on the logarithmic scale
    skew_ratio: float = 5.0
    skew_partitions_min: int = 4
    flapping_windows: int = 3
    flapping_share: float = 0.1
    growth_share: float = 0.01  # over the observed time; stable sizes vary by less
    growth_share_per_day: float = 0.05
    growth_rising: float = 0.8  # fraction of the slopes
    disk_days: float = 14.0


PARTITION_COLUMNS = (
    *("cluster", "topic", "partition", "windows", "isr_windows", "min_isr", "last_size"),
    *("growth_bytes_per_day", "rising", "span_s", "n", "sum"),
)
BROKER_COLUMNS = (
    *("cluster", "broker", "used_bytes", "growth_bytes_per_day", "disk_capacity_bytes"),
    *("days_to_full", "days_to_full_low", "days_to_full_high"),
)


def all_findings(
    *, partitions: Table, brokers: Table, assignment: Table, thresholds: Thresholds
) -> Table:
    """The findings of all kinds, from the load models and the assignment."""
    loads = partitions.select(list(PARTITION_COLUMNS)).to_pylist()
    disks = brokers.select(list(BROKER_COLUMNS)).to_pylist()
    placed = assignment.to_pylist()
    found = [
        *hot_brokers(loads, placed, thresholds),
        *skewed_topics(loads, thresholds),
        *flapping_partitions(loads, thresholds),
        *growing_partitions(loads, thresholds),
        *filling_disks(disks, thresholds),
        *misplaced_leaders(placed),
    ]
    return arrow().Table.from_pylist(found, schema=_schema())


def hot_brokers(loads: list[Row], assignment: list[Row], thresholds: Thresholds) -> Iterator[Row]:
    """Brokers whose leaders take in more than those of other brokers."""
    leaders = {(row["cluster"], row["topic"], row["partition"]): _leader(row) for row in assignment}
    heats: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    sums: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for row in loads:
        leader = leaders.get((row["cluster"], row["topic"], row["partition"]))
        if leader is not None and row["n"] and row["sum"] > 0:
            heats[row["cluster"]][leader].append(math.log(row["sum"] / row["n"]))
            sums[row["cluster"]][leader] += row["sum"]
    for cluster, of_broker in heats.items():
        heat = {broker: sum(logs) / len(logs) for broker, logs in of_broker.items()}
        middle, total = median(heat.values()), sum(sums[cluster].values())
        above = {broker: one - middle for broker, one in heat.items()}
        hottest = max(above.values())
        for broker, one in sorted(above.items()):
            near = one >= hottest * thresholds.hot_near_hottest
            if near and one >= math.log(thresholds.hot_ratio):
                why = (
                    f"broker {broker} leads partitions that take {math.exp(one):.1f} times the "
                    f"bytes of the median broker's; {sums[cluster][broker] / total * 100:.0f} % "
                    "of the cluster's bytes come in there"
                )
                yield _finding(
                    "hot_broker",
                    *(_rounded(math.exp(one), 3), thresholds.hot_ratio, why),
                    cluster=cluster,
                    broker=broker,
                )


def _leader(row: Row) -> int:
    leader: int | None = row["leader"]
    return row["replicas"][0] if leader is None else leader


def skewed_topics(loads: list[Row], thresholds: Thresholds) -> Iterator[Row]:
    """Topics with one partition far above an even share."""
    topics: dict[tuple[str, str], list[tuple[float, int]]] = defaultdict(list)
    for row in loads:
        if row["n"]:
            topics[row["cluster"], row["topic"]].append((row["sum"] / row["n"], row["partition"]))
    for (cluster, topic), means in topics.items():
        even = sum(mean for mean, _ in means) / len(means)
        busiest, partition = max(means, key=lambda one: (one[0], -one[1]))
        share = _rounded(busiest / even, 3) if even else 0.0
        if len(means) >= thresholds.skew_partitions_min and share >= thresholds.skew_ratio:
            why = (
                f"partition {partition} of {topic} takes {share:.1f} times an even share of its "
                f"topic's bytes ({len(means)} partitions)"
            )
            yield _finding(
                "skewed_topic",
                *(share, thresholds.skew_ratio, why),
                cluster=cluster,
                topic=topic,
                partition=partition,
            )


def flapping_partitions(loads: list[Row], thresholds: Thresholds) -> Iterator[Row]:
    """Partitions whose ISR changes in many windows."""
    for row in loads:
        least = max(thresholds.flapping_windows, row["windows"] * thresholds.flapping_share)
        if row["isr_windows"] >= least:
            why = (
                f"the ISR of {row['topic']}-{row['partition']} changed in {row['isr_windows']} of "
                f"{row['windows']} windows, down to {row['min_isr']}"
            )
            value, threshold = float(row["isr_windows"]), float(thresholds.flapping_windows)
            yield _of_partition(row, "isr_flapping", value, threshold, why)


def growing_partitions(loads: list[Row], thresholds: Thresholds) -> Iterator[Row]:
    """Partitions that grow steadily, by more than the usual variation of sizes."""
    for row in loads:
        growth, size = row["growth_bytes_per_day"], max(float(row["last_size"]), 1.0)
        if growth is None:
            continue
        per_day, seen = growth / size, growth * (row["span_s"] / 86_400.0) / size
        if (
            seen >= thresholds.growth_share
            and per_day >= thresholds.growth_share_per_day
            and row["rising"] >= thresholds.growth_rising
        ):
            why = (
                f"{row['topic']}-{row['partition']} grows by {growth / 1e9:.2f} GB a day, "
                f"{per_day * 100:.0f} % of its size; it rose by {seen * 100:.1f} % in "
                f"{row['span_s'] / 3600.0:.1f} hours"
            )
            yield _of_partition(row, "growing", _rounded(seen, 4), thresholds.growth_share, why)


def filling_disks(brokers: Iterable[Row], thresholds: Thresholds) -> Iterator[Row]:
    """Brokers whose disk will be full soon."""
    for row in brokers:
        days = row["days_to_full"]
        if days is None or days > thresholds.disk_days:
            continue
        low, high = row["days_to_full_low"], row["days_to_full_high"]
        used = row["used_bytes"] * 100.0 / row["disk_capacity_bytes"]
        why = (
            f"the disk of broker {row['broker']} is full in {days:.1f} days ({low:.1f} to "
            f"{'never' if high is None else format(high, '.1f')}): {used:.0f} % used, "
            f"{row['growth_bytes_per_day'] / 1e9:.2f} GB more a day"
        )
        yield _finding(
            "disk_full_soon",
            *(_rounded(days, 3), thresholds.disk_days, why),
            cluster=row["cluster"],
            broker=row["broker"],
        )


def misplaced_leaders(assignment: Iterable[Row]) -> Iterator[Row]:
    """Brokers that do not lead all partitions of which they are the preferred leader."""
    preferring: dict[tuple[str, int], int] = defaultdict(int)
    elsewhere: dict[tuple[str, int], list[str]] = defaultdict(list)
    for row in assignment:
        broker = row["cluster"], row["replicas"][0]
        preferring[broker] += 1
        if row["leader"] is not None and row["leader"] != broker[1]:
            elsewhere[broker].append(f"{row['topic']}-{row['partition']}")
    for (cluster, broker), names in sorted(elsewhere.items()):
        why = (
            f"{len(names)} of the {preferring[cluster, broker]} partitions that prefer broker "
            f"{broker} are led by others, such as {min(names)}"
        )
        of = {"cluster": cluster, "broker": broker}
        yield _finding("led_elsewhere", float(len(names)), 1.0, why, **of)


def _of_partition(row: Row, kind: str, value: float, threshold: float, why: str) -> Row:
    key = {name: row[name] for name in ("cluster", "topic", "partition")}
    return _finding(kind, value, threshold, why, **key)


def _finding(kind: str, value: float, threshold: float, why: str, **subject: Any) -> Row:
    return {"kind": kind, "value": value, "threshold": threshold, "why": why, **subject}


def _rounded(value: float, digits: int) -> float:
    """Rounded with halves away from zero."""
    return math.copysign(math.floor(abs(value) * 10.0**digits + 0.5), value) / 10.0**digits


def _schema() -> Any:
    pa = arrow()
    return pa.schema(
        [
            *(("kind", pa.string()), ("cluster", pa.string()), ("broker", pa.int32())),
            *(("topic", pa.string()), ("partition", pa.int32()), ("value", pa.float64())),
            *(("threshold", pa.float64()), ("why", pa.string())),
        ]
    )
