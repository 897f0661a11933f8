"""When a snapshot of the image is due."""

from __future__ import annotations

from kedge.kraft.values import ControllerConfig, SnapshotDue
from kedge.metadata import Image
from kedge.quorum.values import EpochOffset


class SnapshotSchedule:
    """Counts the committed bytes since the last snapshot; one is written at a time."""

    def __init__(self, config: ControllerConfig, now_ms: int) -> None:
        self._config = config
        self._bytes = 0
        self._since_ms = now_ms
        self._being_written = False

    def on_committed(self, size: int) -> None:
        """A batch was committed."""
        self._bytes += size

    def on_taken(self, now_ms: int) -> None:
        """A snapshot was written or loaded."""
        self._bytes, self._since_ms, self._being_written = 0, now_ms, False

    def maybe_due(self, applied: EpochOffset, image: Image, now_ms: int) -> SnapshotDue | None:
        """The snapshot to write now; never inside a transaction, and never twice at once."""
        config = self._config
        every = config.snapshot_after_ms
        is_old = every is not None and self._bytes > 0 and now_ms - self._since_ms >= every
        is_due = is_old or self._bytes >= config.snapshot_after_bytes
        if not is_due or self._being_written or image.before_transaction is not None:
            return None
        self._being_written = True
        return SnapshotDue(applied, image, now_ms)
