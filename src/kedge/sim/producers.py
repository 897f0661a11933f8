"""The producers: records with identities, so that one that is lost is missed."""

from __future__ import annotations

from collections.abc import Callable

from kedge.model import BrokerId, TopicPartition
from kedge.sim.desk import Desk

BULK_BYTES = (20 << 20, 500 << 20)
LOG_BYTES_MAX = 2 << 30


class Producers:
    """They know a leader by asking around, and count only what was acknowledged."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.world, self.luck = desk, desk.world, desk.luck
        self._made = 0

    def produce(self) -> None:
        """Some small records to some partitions."""
        for tp in self.luck.sample(self.desk.partitions(), min(4, len(self.desk.partitions()))):
            for _ in range(self.luck.between(1, 3)):
                self.produce_to(tp, 1000)

    def produce_in_bulk(self) -> None:
        """Much data to one partition, so that copying it takes a while."""
        if self.desk.partitions():
            tp = self.luck.pick(self.desk.partitions())
            if self.world.log_bytes(tp) > LOG_BYTES_MAX:
                return
            for _ in range(3):
                self.produce_to(tp, self.luck.between(*BULK_BYTES))

    def produce_to(
        self,
        tp: TopicPartition,
        size_bytes: int,
        leader: BrokerId | None = None,
        done: Callable[[], object] | None = None,
    ) -> None:
        """One record, to a broker that believes to lead; unless told, that may be a wrong one."""
        leaders = [
            machine.process
            for broker, machine in sorted(self.world.machines.items())
            if machine.process is not None
            and (hosted := machine.process.hosted.get(tp)) is not None
            and hosted.leading is not None
            and leader in (None, broker)
        ]
        if not leaders:
            return
        self._made += 1
        identity = self._made

        def acked(offset: int | None) -> None:
            if offset is not None:
                self.world.count_acked(tp, offset, identity)
                if done is not None:
                    done()

        self.luck.pick(leaders).produce(tp, identity, size_bytes, acked)
