"""The invariants of a KRaft cluster, beside those of its quorum.

The reference is one image: the replay of the committed log, batch by batch, as the first node
delivered it. Images of controllers and brokers, snapshots and reads are compared with it by the
snapshot that they would write, because a snapshot does not keep the offsets of registrations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kedge.errors import InvariantViolated
from kedge.metadata import EMPTY, ApiError, Image, Versioned, replay_all, snapshot
from kedge.metadata.records import ClearElrRecord
from kedge.model.error_codes import ErrorCode
from kedge.quorum.values import EpochOffset
from kedge.sim.kraft.numbered import Numbered
from kedge.sim.quorum.checkers import CheckedCluster, Checkers
from kedge.sim.quorum.mutations import Entry


class KraftCheckers(Checkers):
    """What has been seen so far, and the rules about it."""

    def __init__(self, cluster: CheckedCluster) -> None:
        super().__init__(cluster)
        self._images: dict[int, Image] = {0: EMPTY}
        self._written: dict[int, tuple[Versioned, ...]] = {}
        self._blocks: set[int] = set()
        self.cleared: set[str] = set()  # topics whose eligible leader replicas were dropped

    @property
    def image(self) -> Image:
        """The image of the whole committed log."""
        return _shown(self._images[self.end])

    def on_committed(self, node: int, entry: Entry) -> None:
        """A batch reaches the image of a node."""
        super().on_committed(node, entry)
        if self.end not in self._images:
            records = [kept.record.record for kept in entry.records if isinstance(kept, Numbered)]
            self._images[self.end] = replay_all(self._images[entry.base], records, entry.base)
            self.cleared.update(r.topic_name for r in records if isinstance(r, ClearElrRecord))

    def on_image(self, node: int, offset: int, image: Image) -> None:
        """A node shows its image of the log up to an offset."""
        self.checks["images compared"] += 1
        reference = self._images.get(offset)
        if reference is None:
            raise InvariantViolated(f"node {node} has an image of offset {offset}, not committed")
        if image is not reference and snapshot(image) != self._reference(offset):
            raise InvariantViolated(
                f"the image of node {node} is not the replay of the log up to {offset}"
            )

    def on_load(self, node: int, snapshot_id: EpochOffset, records: Sequence[Versioned]) -> None:
        """A node loads a snapshot."""
        self.checks["snapshots loaded"] += 1
        if tuple(records) != self._reference(snapshot_id.offset):
            raise InvariantViolated(f"node {node} loads a snapshot that was never committed")

    def _reference(self, offset: int) -> tuple[Versioned, ...]:
        if offset not in self._written:
            if offset not in self._images:
                raise InvariantViolated(f"no batch of the committed log ends at {offset}")
            self._written[offset] = snapshot(_shown(self._images[offset]))
        return self._written[offset]

    def on_reply(self, node: int, what: str, appended: Iterable[Numbered]) -> None:
        """A client is answered, and had to wait for these records."""
        self.checks["answers"] += 1
        lost = [kept for kept in appended if kept not in self.values]
        if lost:
            raise InvariantViolated(
                f"node {node} answers {what} before {type(lost[0].record.record).__name__} "
                "is committed"
            )

    def on_refusal(self, node: int, what: str, error: ApiError) -> None:
        """A client is refused; a request that the code did not expect must not happen."""
        self.checks["refusals"] += 1
        if error.code is ErrorCode.UNKNOWN_SERVER_ERROR:
            raise InvariantViolated(f"node {node} fails at {what}: {error.message}")

    def on_producer_ids(self, broker: int, start: int) -> None:
        """A broker is given a block of producer ids."""
        self.checks["blocks of producer ids"] += 1
        if start in self._blocks:
            raise InvariantViolated(
                f"broker {broker} is given the producer ids from {start}, which were given before"
            )
        self._blocks.add(start)


def _shown(image: Image) -> Image:
    return image.before_transaction or image
