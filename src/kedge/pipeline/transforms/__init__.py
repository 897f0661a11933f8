"""Pure functions from DataFrames to DataFrames: no reads, writes, actions or clock.

    raw rows ── with_replica_hash ── with_known_broker
      ├─ valid_rows ── dedupe ──► samples ── roll_up ──► rollup ──► `kedge.pipeline.models`
      └─ rejected_rows ──► late, quarantine

Batch and stream call the same functions. They use Spark's built-in functions only: no row passes
through Python. Many rows of Parquet files are read, validated and deduplicated by workers instead,
with numpy (`kedge.pipeline.sources.packed_samples`): the rows are the same.
"""

from kedge.pipeline.transforms.dedupe import day_of, dedupe, expand_copies
from kedge.pipeline.transforms.replica_hash import with_known_broker, with_replica_hash
from kedge.pipeline.transforms.rollup import (
    ROLLUP_INPUT,
    WINDOW_S,
    roll_up,
    roll_up_brokers,
    window_start,
)
from kedge.pipeline.transforms.validate import (
    LATE,
    QUARANTINED,
    REASONS,
    ValidationRules,
    rejected_rows,
    valid_rows,
    with_raw_text,
)

__all__ = [
    "LATE",
    "QUARANTINED",
    "REASONS",
    "ROLLUP_INPUT",
    "WINDOW_S",
    "ValidationRules",
    "day_of",
    "dedupe",
    "expand_copies",
    "rejected_rows",
    "roll_up",
    "roll_up_brokers",
    "valid_rows",
    "window_start",
    "with_known_broker",
    "with_raw_text",
    "with_replica_hash",
]
