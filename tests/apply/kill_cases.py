"""The runs that are killed: their throttles, those of others, and how each run is steered."""

from __future__ import annotations

from dataclasses import dataclass, field

from kedge.execution import RateRange, RequestKind, Steering
from kedge.execution.windows import parse_window
from kedge.model import BrokerId
from tests.apply.kill_checks import BROKERS, BYSTANDER, NOT_ADDED_TO, Cordons
from tests.apply.operators import Wish

TOPIC, OTHER = "t", "other"


@dataclass(frozen=True)
class Case:
    """The throttle of a run, where others have set theirs before, and how the run is steered.

    `events` are lines that only a run which is steered so has in its journal.
    """

    name: str
    rate: int | None
    foreign_brokers: tuple[BrokerId, ...]
    foreign_topic: str
    steering: Steering = field(default_factory=Steering)
    interval_s: float = 1.0
    wishes: tuple[Wish, ...] = ()
    drained: tuple[BrokerId, ...] = ()
    events: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return self.name


THROTTLED = Case("throttled", 1_000, (BYSTANDER,), OTHER)
BESIDE_OTHERS = Case("beside throttles of others", None, BROKERS, TOPIC)
STEERED = Case(
    "another rate and a pause",
    1_000,
    (BYSTANDER,),
    OTHER,
    wishes=((RequestKind.RATE, 5_000), (RequestKind.PAUSE, None)),
    events=frozenset({"request", "rates", "answered", "paused"}),
)
IN_A_WINDOW = Case(
    "in a window that ends before the moves do",
    1_000,
    (BYSTANDER,),
    OTHER,
    Steering(
        adaptive=RateRange(600, 4_000), windows=(parse_window("00:00-00:01"),), hard_window=True
    ),
    interval_s=31.0,
    events=frozenset({"rate", "sent_back", "paused"}),
)
DRAINING = Case(
    "draining",
    None,
    BROKERS,
    TOPIC,
    drained=(*NOT_ADDED_TO, BYSTANDER),
    events=frozenset({"cordoned"}),
)
CORDONS_OF_OTHERS: Cordons = {NOT_ADDED_TO[0]: "/data/a", BYSTANDER: "*"}
CASES = (THROTTLED, BESIDE_OTHERS, STEERED, IN_A_WINDOW, DRAINING)
