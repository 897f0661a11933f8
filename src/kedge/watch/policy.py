"""The policy of a cluster: what the loop looks for, what it may do by itself, and how fast.

mode        propose   proposals are shown; the loop starts nothing
            approve   a proposal runs once a person has approved it
            auto      proposals run by themselves within the budget; others need an approval
budget      what may run without an approval: bytes and moves in any 24 hours, kinds, windows.
            Windows also hold approved proposals back, unless the approval says at once
cool-down   for so long no partition that the loop has moved is moved again by itself
detect      when something counts as a finding

Every default is careful: without a policy the loop proposes and starts nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from kedge.execution.windows import Window

MINUTE_S, HOUR_S, DAY_S = 60.0, 3600.0, 86_400.0


class Mode(StrEnum):
    """What may start a run."""

    PROPOSE = "propose"
    APPROVE = "approve"
    AUTO = "auto"


class Kind(StrEnum):
    """What a proposal does, most urgent first."""

    REPAIR = "repair"  # new replicas in place of those on a broker that is down
    RACKS = "racks"  # replicas of a partition apart again
    DISK = "disk"  # room on brokers that are nearly full
    FILL = "fill"  # load onto a broker that has little or none
    BALANCE = "balance"
    LEADERS = "leaders"  # preferred replicas lead again; no data moves


class WebhookForm(StrEnum):
    """The form of the messages that a webhook takes."""

    JSON = "json"
    SLACK = "slack"
    TEAMS = "teams"


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that is sent every event; the address is a secret and no part of its repr."""

    form: WebhookForm
    url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Detection:
    """When something is a finding; times in seconds, shares from 0 to 1.

    `tolerance` is how far the most loaded broker may be above the mean, as the median of each of
    the last `windows` windows of `window_s`.
    """

    broker_down_for_s: float = 15 * MINUTE_S
    under_replicated_for_s: float = 10 * MINUTE_S
    disk_above: float = 0.85
    disk_full_within_s: float = 7 * DAY_S
    tolerance: float = 0.2
    windows: int = 6
    window_s: float = 10 * MINUTE_S
    new_broker_after_s: float = 15 * MINUTE_S
    leaders_away: float = 0.1
    leaders_away_for_s: float = 10 * MINUTE_S
    slow_for_s: float = 10 * MINUTE_S

    @property
    def recent_s(self) -> float:
        """How far back a condition has to hold, at most: there every sample counts."""
        held = (self.broker_down_for_s, self.under_replicated_for_s, self.new_broker_after_s)
        windows = self.windows * self.window_s
        return max(*held, windows, self.leaders_away_for_s, 2 * self.slow_for_s)

    @property
    def memory_s(self) -> float:
        """How far back detection looks, at most; before `recent_s` only for trends."""
        return max(self.recent_s, 7 * DAY_S)


@dataclass(frozen=True, slots=True)
class Budget:
    """What may run without an approval; None is no limit."""

    bytes_per_day: int | None = None
    moves_per_day: int | None = None
    windows: tuple[Window, ...] = ()
    kinds: frozenset[Kind] = frozenset(Kind)


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy of one cluster."""

    mode: Mode = Mode.PROPOSE
    sample_every_s: float = MINUTE_S
    cool_down_s: float = 6 * HOUR_S
    expires_s: float = 2 * DAY_S
    quiet_after_rejection_s: float = DAY_S
    throttle: int | None = 50_000_000
    moves_per_broker: int = 2
    budget: Budget = field(default_factory=Budget)
    detect: Detection = field(default_factory=Detection)
    webhooks: tuple[Webhook, ...] = ()

    @property
    def gap_s(self) -> float:
        """Samples further apart than this tell nothing of the time between them."""
        return 4 * self.sample_every_s
