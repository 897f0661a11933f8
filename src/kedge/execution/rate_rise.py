"""Raises throttles in steps, so that brokers follow the new rate and let no burst through.

A broker compares its rate with the bytes of the last `WINDOW_S`: eleven samples of one second, with
Kafka's defaults. When a rate is raised from r to R at once, the broker at once allows what is now
missing in that window, 11·(R - r) bytes at the speed of the network, and after it r per second
until the burst has left the window; then the burst comes again, every eleven seconds. When the rate
rises evenly over the window instead, each second allows the r that leaves the window and R - r
more: from the first second on R, with no burst. A rate that is lowered needs no steps: less is
allowed at once.

A broker that has counted no bytes for a window counts from its first byte on: the rates of a run
that begins are set at once, and what arrives keeps to them from the first second. Where a throttle
was in use within the window, by a run that has just ended or was paused, the broker would let the
missing bytes of a whole window through at once: there the rates rise from nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from kedge.execution.journal import Settings

WINDOW_S = 11.0
STEP_S = 1.0  # between two steps, at least: the length of a sample


@dataclass(frozen=True, slots=True)
class RateRise:
    """Rates of brokers on their way to others; both are numbers, as configs have them."""

    first: Settings
    last: Settings
    began: float
    window_s: float = WINDOW_S

    def is_over(self, now: float) -> bool:
        """Whether the last rates are due."""
        return self._share(now) >= 1.0

    def at(self, now: float, *, ahead_s: float = STEP_S) -> dict[str, dict[str, str]]:
        """The rates to set now; a step is for the seconds until the next one."""
        share = self._share(now, ahead_s)
        return {
            broker: {
                config: _between(self.first.get(broker, {}).get(config, value), value, share)
                for config, value in rates.items()
            }
            for broker, rates in self.last.items()
        }

    def without(self, rates: Collection[tuple[str, str]]) -> RateRise:
        """The rise without these rates, named by broker and config."""
        last = {
            broker: {config: v for config, v in configs.items() if (broker, config) not in rates}
            for broker, configs in self.last.items()
        }
        return replace(self, last={broker: configs for broker, configs in last.items() if configs})

    def _share(self, now: float, ahead_s: float = STEP_S) -> float:
        """How much of the rise is due."""
        if not self.window_s or not self._rises:
            return 1.0
        return min(1.0, (now - self.began + ahead_s) / self.window_s)

    @property
    def _rises(self) -> bool:
        return any(
            int(value) > int(self.first.get(broker, {}).get(config, value))
            for broker, rates in self.last.items()
            for config, value in rates.items()
        )


def first_rise(
    before: Settings, last: Settings, now: float, window_s: float, *, throttled_until: float
) -> RateRise:
    """The rise to the rates that a run begins with, from those that it has set.

    Others are due at once, or rise from nothing where a throttle was in use within the window.
    """
    if now - throttled_until >= window_s:
        return RateRise(before, last, now, window_s)
    first = {
        broker: {config: before.get(broker, {}).get(config, "0") for config in rates}
        for broker, rates in last.items()
    }
    return RateRise(first, last, now, window_s)


def _between(first: str, last: str, share: float) -> str:
    risen = int(first) + int((int(last) - int(first)) * share)
    return last if int(last) <= int(first) else str(risen)
