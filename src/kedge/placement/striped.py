"""The striped placer of clusters without ZooKeeper (KRaft).

Racks stand in a row, "no rack" as one more of them, first. Each has its unfenced and its fenced
brokers. A partition takes its leader from the first rack at or after `offset` that has an unfenced
broker left, and its followers from the racks in turn, an unfenced broker before a fenced one;
the leader's rack is passed over once, since it has had its turn. Then offset moves on by one rack.

Each list of brokers is dealt out once per partition (`epoch` says which one), beginning one broker
later every time. When there have been as many partitions as unfenced brokers, racks and brokers
are shuffled and the epochs begin again at 0.

    three racks a{0,1} b{2,3} c{4,5}, every draw 0, two replicas
    partition 0: 0,2    partition 1: 3,5    partition 2: 4,1

A known flaw is kept, since the point is to say what Kafka would do: a list remembers its epoch over
the restart, so one last used in epoch 0 seems used up in the new epoch 0. With one broker in each
of two racks and one replica, nearly everything can land on one broker.
"""

from __future__ import annotations

from collections.abc import Collection, MutableSequence, Sequence
from typing import Any

import numpy as np

from kedge.errors import InvalidPartitions, InvalidReplicationFactor
from kedge.model import Broker, BrokerId
from kedge.placement.brokers import rack_order, refuse_twins
from kedge.placement.place import judge_replication_factor, refuse_absurd_size
from kedge.placement.result import Placement
from kedge.placement.start import Draw


def place_striped(
    brokers: Sequence[Broker],
    *,
    partitions: int,
    replication_factor: int,
    draw: Draw,
    fenced: Collection[BrokerId] = (),
    first_partition: int = 0,
) -> Placement:
    """Place new partitions as a KRaft controller does; `first_partition` only names them.

    Draws: one per list of brokers (racks in order, unfenced first), one for the first rack, and
    then those of the shuffles.
    """
    judge_replication_factor(replication_factor, len(brokers))
    if all(broker.id in fenced for broker in brokers):
        raise InvalidReplicationFactor(
            f"replication factor {replication_factor}, all {len(brokers)} brokers are fenced",
            hint="wait until a broker is unfenced",
        )
    if partitions < 0:
        raise InvalidPartitions(f"{partitions} partitions", hint="ask for 1 or more")
    refuse_twins(brokers)
    refuse_absurd_size(partitions, replication_factor)
    stripes = _Stripes(brokers, frozenset(fenced), draw)
    rows = [stripes.next_partition(replication_factor) for _ in range(partitions)]
    table = np.array(rows, dtype=np.int32).reshape(partitions, replication_factor)
    return Placement(range(first_partition, first_partition + partitions), table)


class _Hand:
    """A list of brokers that is dealt out once per epoch, one later every time."""

    def __init__(self, ids: list[BrokerId], draw: Draw) -> None:
        self.ids = sorted(ids)
        self._offset = draw(len(ids)) if ids else 0
        self._dealt = 0
        self._epoch = 0

    def next(self, epoch: int) -> BrokerId | None:
        """The next broker in this epoch, or None when all have been dealt."""
        size = len(self.ids)
        if size == 0:
            return None
        if self._epoch != epoch:
            self._epoch = epoch
            self._dealt = 0
            self._offset = (self._offset + 1) % size
        if self._dealt >= size:
            return None
        self._dealt += 1
        return self.ids[(self._dealt - 1 + self._offset) % size]


class _Rack:
    """The brokers of one rack."""

    def __init__(self, brokers: Sequence[Broker], fenced: frozenset[BrokerId], draw: Draw) -> None:
        self.unfenced = _Hand([b.id for b in brokers if b.id not in fenced], draw)
        self.fenced = _Hand([b.id for b in brokers if b.id in fenced], draw)

    def next(self, epoch: int) -> BrokerId | None:
        chosen = self.unfenced.next(epoch)
        return self.fenced.next(epoch) if chosen is None else chosen


class _Stripes:
    """All racks, and where the next partition begins."""

    def __init__(self, brokers: Sequence[Broker], fenced: frozenset[BrokerId], draw: Draw) -> None:
        by_rack: dict[str | None, list[Broker]] = {}
        for broker in brokers:
            by_rack.setdefault(broker.rack, []).append(broker)
        names = sorted(by_rack, key=lambda rack: (rack is not None, rack_order(rack or "")))
        self._draw = draw
        self._by_name = [_Rack(by_rack[name], fenced, draw) for name in names]
        self._row = list(self._by_name)
        self._offset = draw(len(names))
        self._epoch = 0
        self._unfenced = sum(len(rack.unfenced.ids) for rack in self._by_name)

    def next_partition(self, replication_factor: int) -> list[BrokerId]:
        """The replicas of one more partition."""
        # a single broker is never shuffled: its only list would seem used up for ever after
        if self._epoch == self._unfenced > 1:
            self._shuffle()
        if self._offset == len(self._row):
            self._offset = 0
        leader, its_rack = self._leader()
        followers = self._followers(its_rack, replication_factor - 1)
        self._epoch += 1
        self._offset += 1
        return [leader, *followers]

    def _leader(self) -> tuple[BrokerId, int]:
        """The leader and its rack's place; some rack has one, for the last epoch's leader's has."""
        at = self._offset
        while (leader := self._row[at].unfenced.next(self._epoch)) is None:
            at = (at + 1) % len(self._row)
        return leader, at

    def _followers(self, leaders_rack: int, wanted: int) -> list[BrokerId]:
        followers: list[BrokerId] = []
        to_pass_over: int | None = leaders_rack
        at = self._offset
        while len(followers) < wanted:
            if at == to_pass_over:
                to_pass_over = None
            elif (broker := self._row[at].next(self._epoch)) is not None:
                followers.append(broker)
            at = (at + 1) % len(self._row)
        return followers

    def _shuffle(self) -> None:
        """Shuffle the row of racks and every list; offsets and lists' epochs stay as they are."""
        shuffle(self._row, self._draw)
        for rack in self._by_name:
            shuffle(rack.unfenced.ids, self._draw)
            shuffle(rack.fenced.ids, self._draw)
        self._epoch = 0


def shuffle(items: MutableSequence[Any], draw: Draw) -> None:
    """Shuffle in place, from the end (Fisher and Yates)."""
    for size in range(len(items), 1, -1):
        chosen = draw(size)
        items[size - 1], items[chosen] = items[chosen], items[size - 1]
