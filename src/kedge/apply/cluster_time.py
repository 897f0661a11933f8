"""How fast the time of a cluster passes, beside ours: a lab may have a clock of its own."""

from __future__ import annotations

from kedge.cluster.log_port import ClusterClock

FAST_MAX = 1e6  # a lab that runs as fast as it can


def speed_of(clock: ClusterClock | None) -> float:
    """How fast the time of a cluster passes; 1 where it is ours, or no rate can be told."""
    return clock.speed if clock is not None and keeps_time(clock) else 1.0


def keeps_time(clock: ClusterClock | None) -> bool:
    """False of a lab that runs as fast as it can: how much time passes there between two polls of a
    run depends on this machine, and so does what the run takes."""
    return clock is None or clock.speed < FAST_MAX
