"""One finding of the tables, the facts it is weighed with, and what runs remember of findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

KINDS = (
    *("disk_full_soon", "hot_broker", "isr_flapping", "growing", "skewed_topic"),
    "led_elsewhere",
)
SMALLER_IS_WORSE = frozenset({"disk_full_soon"})  # days

Key = tuple[str, str, int | None, str | None, int | None]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding, and the time series of its figure over the last days."""

    kind: str
    cluster: str
    broker: int | None
    topic: str | None
    partition: int | None
    value: float
    threshold: float
    why: str
    course: list[float] = field(default_factory=list[float])

    @property
    def subject(self) -> str:
        """The broker or partition, as `broker 3` or `orders-7`."""
        return f"broker {self.broker}" if self.topic is None else f"{self.topic}-{self.partition}"

    @property
    def key(self) -> Key:
        """What is the same of this finding in every run."""
        return (self.kind, self.cluster, self.broker, self.topic, self.partition)

    @property
    def badness(self) -> float:
        """The value, as a figure that is larger for worse findings of its kind."""
        return -self.value if self.kind in SMALLER_IS_WORSE else self.value


@dataclass(frozen=True, slots=True)
class Remembered:
    """A finding with the last sample of the run that first had it, and its value the run before.

    `previous` is None in the first run that has it; `gone` is one that the last run has no more.
    """

    finding: Finding
    first_seen: datetime
    previous: float | None = None
    gone: bool = False


def remembered(
    before: Iterable[Remembered], found: Iterable[Finding], now: datetime
) -> list[Remembered]:
    """What to remember after a run whose last sample is at `now`.

    A finding that was gone for a run is new when it comes back.
    """
    known = {one.finding.key: one for one in before if not one.gone}
    kept: list[Remembered] = []
    for finding in found:
        earlier = known.pop(finding.key, None)
        if earlier is None:
            kept.append(Remembered(finding, now))
        else:
            kept.append(Remembered(finding, earlier.first_seen, earlier.finding.value))
    gone = [
        Remembered(one.finding, one.first_seen, one.finding.value, gone=True)
        for one in known.values()
    ]
    return [*kept, *gone]


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What the tables say of one cluster, to weigh its findings with."""

    brokers: int = 0
    disk_capacity: float | None = None  # of all brokers; None where one is unknown
    stored: float = 0.0
    partitions: Mapping[str, int] = field(default_factory=dict[str, int])  # of each topic
    bytes_in: Mapping[str, float] = field(default_factory=dict[str, float])  # of each topic
    growth_per_day: Mapping[tuple[str, int], float] = field(
        default_factory=dict[tuple[str, int], float]
    )
    replicas: Mapping[tuple[str, int], tuple[int, ...]] = field(
        default_factory=dict[tuple[str, int], tuple[int, ...]]
    )

    def replication(self, tp: tuple[str, int]) -> int:
        """The number of replicas of a partition, 1 where it is unknown."""
        return max(len(self.replicas.get(tp, ())), 1)


def growth_on_disk(members: Sequence[Finding], facts: ClusterFacts) -> float:
    """Bytes a day of all replicas of the partitions."""
    partitions = [(one.topic or "", one.partition or 0) for one in members]
    return sum(facts.growth_per_day.get(tp, 0.0) * facts.replication(tp) for tp in partitions)
