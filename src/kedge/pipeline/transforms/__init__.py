"""From frames to frames: what the pipeline computes, with no reading, writing, action or clock.

    raw rows ── with_replica ── with_known ─┬─ good ── dedupe ──► samples ── roll_up ──► rollup
                                            │                        │                     │
                                            └─ refused       sample_figures             courses
                                                 ├──► late           └─ partition_load ────┤
                                                 └──► quarantine              │       broker_load
                                                                              └─ findings ─┘

Batch and stream call the same functions, and each takes the frames that it needs by name. Built-in
functions do all the work: no row passes through Python.
"""

from kedge.pipeline.transforms.dedupe import day_of, dedupe, each_copy
from kedge.pipeline.transforms.known import with_known, with_replica
from kedge.pipeline.transforms.rollup import ROLLED, WINDOW_S, roll_up, window_start
from kedge.pipeline.transforms.validate import (
    LATE,
    QUARANTINED,
    REASONS,
    Rules,
    good,
    quarantine,
    refused,
)

__all__ = [
    "LATE",
    "QUARANTINED",
    "REASONS",
    "ROLLED",
    "WINDOW_S",
    "Rules",
    "day_of",
    "dedupe",
    "each_copy",
    "good",
    "quarantine",
    "refused",
    "roll_up",
    "window_start",
    "with_known",
    "with_replica",
]
