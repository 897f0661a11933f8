"""What may go wrong, as named knobs, and how often."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Faults:
    """How likely each fault is, relative to the others, when a fault is due; and its measures.

    One in `every` steps of a run is a fault, the others are work.
    """

    every: int = 3
    weights: dict[str, int] = field(
        default_factory=lambda: {
            "controller crash at a yield": 30,
            "broker crash": 9,
            "broker bounce": 8,
            "controlled shutdown": 6,
            "broker session lost": 5,
            "broker cut off from the store": 4,
            "controller role taken away": 4,
            "controller paused and replaced": 8,
            "controller session lost": 5,
            "controller cut off from the store": 5,
            "store reply lost": 6,
            "link cut": 8,
            "messages lost": 5,
            "network slow": 3,
            "log directory failure": 4,
            "slow disk": 4,
            "clock jump": 3,
        }
    )
    session_timeout_ms: int = 6_000
    down_ms_max: int = 40_000
    cut_ms_max: int = 25_000
    loss: float = 0.15
    loss_ms_max: int = 8_000
    slow_delay_ms_max: int = 1_500
    slow_disk_bytes_per_second: int = 500_000
    clock_jump_ms_max: int = 60_000
    yields_until_crash_max: int = 60
    brokers_down_max: int = 2


NO_FAULTS = Faults(weights={})
