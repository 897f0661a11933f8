"""What a prediction says: times, peaks, the bound, and problems that rule a plan out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kedge.errors import Unsatisfiable
from kedge.model import BrokerId
from kedge.plan import Change


class ProblemKind(StrEnum):
    """Why a plan cannot be carried out as it is."""

    DISK_FULL = "disk full"
    NEVER_ENDS = "never ends"


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason, as a sentence and as fields; `at` is in seconds from the start of the run."""

    kind: ProblemKind
    what: str
    hint: str
    broker: BrokerId
    log_dir: str | None = None
    at: float | None = None
    rate_needed: int | None = None


@dataclass(frozen=True, slots=True)
class MoveTimes:
    """When a move starts and ends, in seconds from the start of the run; None: never.

    `into` has a broker for each copy: those added, then those that copy between log directories.

    A move that adds replicas makes its partition have more of them than are in sync from its start
    to its end: `under_replicated_seconds`. (Kafka's metric UnderReplicatedPartitions leaves
    replicas that are being added out; descriptions of topics show them.) A copy between the log
    directories of a broker adds none: the replica that is copied stays in sync.
    """

    change: Change
    bytes_copied: int
    start: float | None
    end: float | None
    into: tuple[BrokerId, ...] = ()

    @property
    def under_replicated_seconds(self) -> float | None:
        """How long the partition has more replicas than in-sync replicas; None: for ever."""
        if not self.change.added:
            return 0.0
        return None if self.end is None or self.start is None else self.end - self.start


@dataclass(frozen=True, slots=True)
class DiskPeak:
    """The most bytes on a broker (`log_dir` None) or in a log directory, and when."""

    broker: BrokerId
    log_dir: str | None
    before: float
    peak: float
    at: float
    capacity: float | None
    full_at: float | None

    @property
    def share(self) -> float | None:
        """Of the capacity; None where that is unknown."""
        return self.peak / self.capacity if self.capacity else None


@dataclass(frozen=True, slots=True)
class BrokerPeak:
    """What moves take of a broker at most, each at its own moment.

    `in_flight_…` are the bytes of copies under way at once, `link_…` the share of the link that
    copies take, `from_clients_…` the share that live traffic has to give up for it.
    """

    broker: BrokerId
    in_flight_out: float
    in_flight_in: float
    link_out: float
    link_in: float
    from_clients_out: float
    from_clients_in: float


@dataclass(frozen=True, slots=True)
class DiskCourse:
    """The most bytes on a broker (`log_dir` None) or in a log directory, during each step."""

    broker: BrokerId
    log_dir: str | None
    bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FlightCourse:
    """The most bytes of copies under way at once, out of a broker and into it, by step."""

    broker: BrokerId
    out: tuple[int, ...]
    into: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """A run over time: the first step begins at `start`, each takes `step` seconds.

    Disks that do not change while moves run, and brokers without copies, are left out.
    """

    start: float
    step: float
    disks: tuple[DiskCourse, ...]
    brokers: tuple[FlightCourse, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a run of a plan will be like.

    `seconds` is the whole run at the rates given; `seconds_p10` and `seconds_p90` are over drawn
    rates. `moving_seconds` is from the first move's start to the last one's end, which no run
    makes shorter than `bound_seconds`, the time that `bound_by` needs. Infinite: never.
    """

    seconds: float
    seconds_p10: float
    seconds_p90: float
    moving_seconds: float
    bound_seconds: float
    bound_by: str
    bytes_copied: int
    moves: tuple[MoveTimes, ...]
    disks: tuple[DiskPeak, ...]
    brokers: tuple[BrokerPeak, ...]
    course: Course
    problems: tuple[Problem, ...]
    assumptions: tuple[str, ...]
    events: int

    @property
    def over_bound(self) -> float | None:
        """`moving_seconds` over the bound; None where nothing is copied."""
        return self.moving_seconds / self.bound_seconds if self.bound_seconds else None


def refuse_problems(prediction: Prediction) -> None:
    """Refuse a plan that would fill a disk or never end.

    Raises:
        Unsatisfiable: with the broker, the moment, and what would help.
    """
    if prediction.problems:
        first = prediction.problems[0]
        raise Unsatisfiable(first.what, hint=first.hint)
