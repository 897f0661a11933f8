"""Writes the brokers' logs to a file every second and restores them at the next start.

The store is journalled at every write; the logs are written every second or less often. After a
kill the file is older than the store, so its content is reconciled with the store: a replica in the
ISR has by definition every committed record, and gets the log of the most advanced ISR member; any
other replica keeps as much of that log as it had. Logs of deleted topics and former replicas are
dropped.

A log is one row: offsets, size, epochs. Its records are restored with equal sizes, so that all
replicas of a partition have the same records and the sum is exact.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import orjson

from kedge.brokers.disks import Disks
from kedge.brokers.log import Record, ReplicaLog
from kedge.errors import KedgeError, MalformedInput, MalformedJson
from kedge.files import read_bytes, with_path_context
from kedge.lab.lab_cluster import LabCluster
from kedge.lab.log_dirs import LogDirs
from kedge.lab.private_files import write_private
from kedge.lab.traffic_generator import TrafficGenerator
from kedge.model import BrokerId, TopicPartition

FORMAT = "kedge.lab.logs/1"
INTERVAL_S = 1.0
BUSY_FRACTION = 20  # a large lab is written less often: at most one part in twenty of the time
NOW_MS_MAX = 10**13  # of lab time: three hundred years
LOG_COLUMNS = (int, str, str, int, str, int, int, int, int, list, int, int)
OFFSET_MAX = 2**60
RECORDS_MAX = 10_000_000  # of all logs together


class LogRow(NamedTuple):
    """One replica's log as stored in the file."""

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
    first_ms: int  # when the oldest and the newest record were written
    last_ms: int

    @property
    def tp(self) -> TopicPartition:
        """The partition of the log."""
        return TopicPartition(self.topic, self.partition)

    @property
    def rank(self) -> tuple[int, int]:
        """How advanced the log is: by epoch, then by end offset (KIP-101)."""
        return (self.epochs[-1][0] if self.epochs else -1, self.end)


class LogCheckpoint:
    """Keeps the file of one lab up to date, on a thread of its own."""

    def __init__(
        self, cluster: LabCluster, path: Path, traffic: TrafficGenerator, log_dirs: LogDirs
    ) -> None:
        self._cluster = cluster
        self._path = path
        self._traffic = traffic
        self._log_dirs = log_dirs
        self.fault = ""  # why the last write failed
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lab-checkpoint", daemon=True)

    # ---- reading ----

    @staticmethod
    def read(path: Path) -> dict[str, Any]:
        """The checked content of the file; empty if there is none."""
        if not path.exists():
            return {}
        data = read_bytes(path)
        with with_path_context(path):
            return parse_logs(data)

    def load(self, stored: dict[str, Any]) -> None:
        """Restore the logs, pending bytes and moves between directories."""
        if stored:
            with with_path_context(self._path):
                restore(self._cluster, stored["logs"])
                self._traffic.load(stored["pending"])
                self._log_dirs.load(stored["futures"])

    # ---- writing ----

    def save(self) -> None:
        """Write the file now."""
        content = self._cluster.thread.call(self._content)
        write_private(self._path, json.dumps(content, separators=(",", ":")).encode())

    def save_if_possible(self) -> None:
        """Write the file; a failure (a full disk) is recorded and retried at the next interval."""
        try:
            self.save()
            self.fault = ""
        except KedgeError as fault:
            self.fault = str(fault)

    def _content(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "now_ms": self._cluster.clock.now_ms,
            "logs": rows_of(self._cluster),
            "pending": self._traffic.as_json(),
            "futures": self._log_dirs.as_json(),
        }

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause_s = INTERVAL_S
        while not self._stopping.wait(pause_s):
            began_s = time.monotonic()
            self._cluster.ensemble.journal_failure()  # retries a failed journal write
            self.save_if_possible()
            pause_s = max(INTERVAL_S, BUSY_FRACTION * (time.monotonic() - began_s))


# ---- rows of the file ---------------------------------------------------------------------------


def parse_logs(data: bytes) -> dict[str, Any]:
    """The content of the file, with every value checked."""
    try:
        found: Any = orjson.loads(data)
    except ValueError as fault:
        raise MalformedInput("not valid JSON", hint="remove the file") from fault
    if not isinstance(found, dict) or found.get("format") != FORMAT:  # pyright: ignore[reportUnknownMemberType]
        raise MalformedInput("unsupported log format", hint="name another directory")
    content = cast("dict[str, Any]", found)
    now_ms: Any = content.get("now_ms", 0)
    if type(now_ms) is not int or not 0 <= now_ms <= NOW_MS_MAX:
        raise MalformedInput("not a time", place="now_ms")
    return {
        "now_ms": now_ms,
        "logs": read_rows(content.get("logs", [])),
        "pending": typed_rows(content.get("pending", []), "pending", (str, int, int)),
        "futures": typed_rows(content.get("futures", []), "futures", (int, str, int, str, int)),
    }


def rows_of(cluster: LabCluster) -> list[LogRow]:
    """All logs of all brokers."""
    return [
        _row(broker, directory, tp, log)
        for broker, machine in cluster.machines.items()
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
    """The log rows of a file."""
    read = [LogRow(*row) for row in typed_rows(found, "logs", LOG_COLUMNS)]
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
    """A list of lists with values of these types; MalformedJson otherwise."""
    if type(found) is not list:
        raise MalformedJson("not a list", place=place)
    rows = cast("list[Any]", found)
    for number, row in enumerate(rows):
        if type(row) is not list or tuple(map(type, cast("list[Any]", row))) != kinds:
            raise MalformedJson("values of the wrong type", place=f"{place}[{number}]")
    return rows


# ---- restoring ----------------------------------------------------------------------------------


def restore(cluster: LabCluster, rows: Iterable[LogRow]) -> None:
    """Fill the disks from the rows, reconciled with the store."""
    by_partition: dict[TopicPartition, list[LogRow]] = {}
    for row in rows:
        by_partition.setdefault(row.tp, []).append(row)
    for tp, stored in sorted(by_partition.items()):
        _restore_partition(cluster, tp, stored)


def _restore_partition(cluster: LabCluster, tp: TopicPartition, stored: list[LogRow]) -> None:
    topic, now = cluster.metadata.topics.get(tp.topic), cluster.metadata.assignment(tp)
    if topic is None or now is None:
        return
    same_topic = [row for row in stored if row.topic_id in ("", topic.topic_id or "")]
    row_of = {BrokerId(row.broker): row for row in same_topic if row.broker in now.replicas}
    state = cluster.metadata.states.get(tp)
    in_sync = [b for b in now.replicas if state is not None and b in state.isr]
    in_sync_rows = (row_of[b] for b in in_sync if b in row_of)
    fullest = max(in_sync_rows, key=lambda row: row.rank, default=None)
    fullest = fullest or max(row_of.values(), key=lambda row: row.rank, default=None)
    if fullest is None:
        return
    records = list(records_of(fullest))
    for broker in now.replicas:
        row = row_of.get(broker)
        if broker in cluster.machines and (row is not None or broker in in_sync):
            end = fullest.end if broker in in_sync or row is None else min(row.end, fullest.end)
            disks = cluster.machines[broker].disks
            _put(disks, tp, "" if row is None else row.directory, fullest, records, end)


def _put(
    disks: Disks,
    tp: TopicPartition,
    directory: str,
    fullest: LogRow,
    records: list[Record],
    end: int,
) -> None:
    topic_id = fullest.topic_id
    if directory in disks.logs:
        log = disks.put(directory, tp, topic_id)
    else:
        log = disks.create(tp, topic_id)
    log.start_offset = min(fullest.start, end)
    log.append(records[: max(end - fullest.start, 0)])
    log.high_watermark = log.checkpoint = min(fullest.committed, log.end_offset)


def records_of(row: LogRow) -> Iterator[Record]:
    """The records of a row, of equal sizes and evenly distributed over its time span."""
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
