"""From frames to frames: what the pipeline computes, with no reading, writing, action or clock.

    raw rows ── judge ──► good ── with_replica ── dedupe ──► samples ── roll_up ──► rollup
                   │                                            │                     │
                   ├──► late                             sample_figures            courses
                   └──► quarantine                              └─ partition_load ────┤
                                                                         │       broker_load
                                                                         └─ findings ─┘

Batch and stream call the same functions, and each takes the frames that it needs by name. Built-in
functions do all the work: no row passes through Python.
"""

from kedge.pipeline.transforms.dedupe import day_of, dedupe, each_copy, with_replica
from kedge.pipeline.transforms.rollup import (
    WINDOW_S,
    roll_up,
    window_start,
)
from kedge.pipeline.transforms.validate import (
    GOOD,
    LATE,
    QUARANTINED,
    REASONS,
    Rules,
    judge,
    quarantine,
)

__all__ = [
    "GOOD",
    "LATE",
    "QUARANTINED",
    "REASONS",
    "WINDOW_S",
    "Rules",
    "day_of",
    "dedupe",
    "each_copy",
    "judge",
    "quarantine",
    "roll_up",
    "window_start",
    "with_replica",
]
