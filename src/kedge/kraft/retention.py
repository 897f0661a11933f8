"""Which part of the log, and which snapshots, a newer snapshot makes superfluous."""

from __future__ import annotations

from itertools import pairwise

from kedge.kraft.values import ControllerConfig
from kedge.quorum.log import Log
from kedge.quorum.values import EpochOffset


def needed_from(log: Log, config: ControllerConfig, now_ms: int) -> EpochOffset | None:
    """The snapshot before which everything is to be deleted; None: nothing.

    By size: once what the newest snapshot covers is larger than `metadata.max.retention.bytes`. By
    age: a snapshot whose last record is older than `metadata.max.retention.ms` is needed only as
    long as it is the newest.
    """
    if not log.snapshots:
        return None
    newest = log.snapshots[-1].id
    covered = sum(batch.size for batch in log.batches if batch.last < newest.offset)
    covered += sum(known.size for known in log.snapshots[:-1])
    if covered > config.retention_bytes:
        return newest
    if config.retention_ms is None:
        return None
    found = None
    for old, following in pairwise(log.snapshots):
        at_ms = old.last_contained_ms
        if at_ms is None or now_ms - at_ms <= config.retention_ms:
            break
        found = following.id
    return found
