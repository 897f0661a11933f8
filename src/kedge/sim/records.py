"""Every record that a producer was told is safe, and whether it still is.

The rule that is checked is stronger than "a consumer can still read it": each replica that the
store lists as in sync (and that is assigned) has every acknowledged record at its offset. Whoever
is elected from the ISR next, nothing is lost. The rule is let go of for a topic that may elect
leaders uncleanly or that is about to be deleted.
"""

from __future__ import annotations

from bisect import bisect_left

from kedge.brokers.log import ReplicaLog
from kedge.errors import InvariantViolated
from kedge.model import BrokerId, TopicPartition


class Acked:
    """The acknowledged records of one partition of one topic, by offset."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.identities: list[int] = []
        self.seen: dict[ReplicaLog, int] = {}  # how many of them each log is known to hold

    def add(self, tp: TopicPartition, offset: int, identity: int) -> None:
        """Note an acknowledged record.

        Acknowledgements need not come in the order of offsets: a leader that does not know yet that
        it was replaced acknowledges what all of its ISR has fetched before, and its successor is
        one of them. Whether the record is on every in-sync replica is for `check`.
        """
        place = bisect_left(self.offsets, offset)
        if place < len(self.offsets) and self.offsets[place] == offset:
            raise InvariantViolated(
                f"{tp}: record {identity} was acknowledged at offset {offset}, "
                f"where record {self.identities[place]} was before"
            )
        self.offsets.insert(place, offset)
        self.identities.insert(place, identity)
        if place < len(self.offsets) - 1:
            self.seen = {log: min(count, place) for log, count in self.seen.items()}

    def check(self, tp: TopicPartition, broker: BrokerId, log: ReplicaLog | None) -> None:
        """Complain unless a log has every record."""
        if not self.offsets:
            return
        if log is None:
            raise InvariantViolated(
                f"{tp}: broker {broker} is in sync and has no log; "
                f"{len(self.offsets)} acknowledged records should be there"
            )
        start = self._known_start(log)
        for place in range(start, len(self.offsets)):
            offset, identity = self.offsets[place], self.identities[place]
            found = log.records[offset].identity if offset < log.end_offset else None
            if found != identity:
                raise InvariantViolated(
                    f"{tp}: acknowledged record {identity} at offset {offset} is lost on broker "
                    f"{broker}, which is in sync and has {found} there (end {log.end_offset})"
                )
        self.seen[log] = len(self.offsets)

    def _known_start(self, log: ReplicaLog) -> int:
        start = self.seen.get(log, 0)
        if log.lowest_cut is not None:
            start = min(start, bisect_left(self.offsets, log.lowest_cut))
            log.lowest_cut = None
        return start
