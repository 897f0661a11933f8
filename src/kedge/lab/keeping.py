"""What brokers have on their disks, kept in a file, so that it outlives the process.

The store is journalled with every write; the logs are written down every second or so. After a
kill the file is a little older than the store. So what is found there is brought in line with what
the store says: a replica in the ISR has, by definition, everything that was committed, and is given
the log of the ISR member that had most; any other replica keeps as much of that log as it had. What
belongs to nobody any more is dropped.

A log is written as one row: how long, how large, which epochs. Its records come back with equal
sizes, so that all replicas of a partition have the same ones and the sum is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, cast

from kedge.brokers.disks import Disks
from kedge.brokers.log import Record, ReplicaLog
from kedge.errors import MalformedJson
from kedge.lab.world import LabWorld
from kedge.model import BrokerId, TopicPartition

FORMAT = "kedge.lab.logs/1"
LOG_KINDS = (int, str, str, int, str, int, int, int, int, list, int, int)
OFFSET_MAX = 2**60
RECORDS_MAX = 10_000_000  # of all logs together


class LogRow(NamedTuple):
    """One replica's log, as it is written down."""

    broker: int
    directory: str
    topic: str
    partition: int
    topic_id: str
    start: int
    end: int
    committed: int
    size_bytes: int
    epochs: list[tuple[int, int]]
    first_ms: int  # when the oldest record was written, and the youngest
    last_ms: int

    @property
    def tp(self) -> TopicPartition:
        """Which partition it is of."""
        return TopicPartition(self.topic, self.partition)

    @property
    def rank(self) -> tuple[int, int]:
        """The further, the higher: epochs count before lengths (KIP-101)."""
        return (self.epochs[-1][0] if self.epochs else -1, self.end)


# ---- writing ------------------------------------------------------------------------------------


def rows_of(world: LabWorld) -> list[LogRow]:
    """Every log that there is."""
    return [
        _row(broker, directory, tp, log)
        for broker, machine in world.machines.items()
        for directory, held in machine.disks.logs.items()
        for tp, log in held.items()
    ]


def _row(broker: BrokerId, directory: str, tp: TopicPartition, log: ReplicaLog) -> LogRow:
    records = log.records
    first_ms, last_ms = (records[0].identity, records[-1].identity) if records else (0, 0)
    return LogRow(
        broker,
        directory,
        tp.topic,
        tp.partition,
        log.topic_id,
        log.start_offset,
        log.end_offset,
        log.high_watermark,
        log.size_bytes,
        log.epoch_starts,
        first_ms,
        last_ms,
    )


def read_rows(found: object) -> list[LogRow]:
    """Rows as a file holds them."""
    read = [LogRow(*row) for row in typed_rows(found, "logs", LOG_KINDS)]
    for number, row in enumerate(read):
        numbers = (row.start, row.end - row.start, row.committed, row.size_bytes)
        if not all(0 <= each <= OFFSET_MAX for each in numbers):
            raise MalformedJson("not a valid log", place=f"logs[{number}]")
        typed_rows(row.epochs, f"logs[{number}] epochs", (int, int))
    records = sum(row.end - row.start for row in read)
    if records > RECORDS_MAX:
        raise MalformedJson(f"{records} records, more than {RECORDS_MAX}", place="logs")
    return read


def typed_rows(found: object, place: str, kinds: tuple[type, ...]) -> list[list[Any]]:
    """A list of lists with values of these types in this order; MalformedJson if it is none."""
    if type(found) is not list:
        raise MalformedJson("not a list", place=place)
    rows = cast("list[Any]", found)
    for number, row in enumerate(rows):
        if type(row) is not list or tuple(map(type, cast("list[Any]", row))) != kinds:
            raise MalformedJson("values of other types", place=f"{place}[{number}]")
    return rows


# ---- reading ------------------------------------------------------------------------------------


def restore(world: LabWorld, rows: Iterable[LogRow]) -> None:
    """Fill the disks with what was kept, in line with what the store says."""
    by_partition: dict[TopicPartition, list[LogRow]] = {}
    for row in rows:
        by_partition.setdefault(row.tp, []).append(row)
    for tp, kept in sorted(by_partition.items()):
        _restore_partition(world, tp, kept)


def _restore_partition(world: LabWorld, tp: TopicPartition, kept: list[LogRow]) -> None:
    topic, now = world.truth.topics.get(tp.topic), world.truth.assignment(tp)
    if topic is None or now is None:
        return
    same = [row for row in kept if row.topic_id in ("", topic.topic_id or "")]
    mine = {BrokerId(row.broker): row for row in same if row.broker in now.replicas}
    state = world.truth.states.get(tp)
    in_sync = [b for b in now.replicas if state is not None and b in state.isr]
    fullest = max((mine[b] for b in in_sync if b in mine), key=lambda row: row.rank, default=None)
    fullest = fullest or max(mine.values(), key=lambda row: row.rank, default=None)
    if fullest is None:
        return
    records = list(records_of(fullest))
    for broker in now.replicas:
        row = mine.get(broker)
        if broker in world.machines and (row is not None or broker in in_sync):
            end = fullest.end if broker in in_sync or row is None else min(row.end, fullest.end)
            disks = world.machines[broker].disks
            _put(disks, tp, "" if row is None else row.directory, fullest, records, end)


def _put(
    disks: Disks,
    tp: TopicPartition,
    directory: str,
    fullest: LogRow,
    records: list[Record],
    end: int,
) -> None:
    in_place = directory in disks.logs
    topic_id = fullest.topic_id
    log = disks.put(directory, tp, topic_id) if in_place else disks.create(tp, topic_id)
    log.start_offset = min(fullest.start, end)
    log.append(records[: max(end - fullest.start, 0)])
    log.high_watermark = log.checkpoint = min(fullest.committed, log.end_offset)


def records_of(row: LogRow) -> Iterator[Record]:
    """The records of a row, of equal sizes and evenly spread over its time."""
    count = row.end - row.start
    if count <= 0:
        return
    size, rest = divmod(row.size_bytes, count)
    step_ms = (row.last_ms - row.first_ms) / max(count - 1, 1)
    epochs = [tuple(pair) for pair in row.epochs]
    place = 0
    for number in range(count):
        while place + 1 < len(epochs) and epochs[place + 1][1] <= row.start + number:
            place += 1
        written_ms = row.first_ms + round(step_ms * number)
        epoch = epochs[place][0] if epochs else 0
        yield Record(written_ms, epoch, size + (number < rest), 0)


def as_json(world: LabWorld, extra: dict[str, Any]) -> dict[str, Any]:
    """All that is kept."""
    return {"format": FORMAT, "now_ms": world.clock.now_ms, "logs": rows_of(world), **extra}
