"""Copies new records of a Kafka topic to files: Cruise Control's metrics topic, or samples.

The next offset of each partition is in the manifest of the tables, and changes there together with
the tables: a record is ingested exactly once, whether a run is repeated, killed or continued. A
topic that was deleted and created again, or whose records expired, continues at its first record.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Final, Protocol

import orjson

from kedge.cluster.access import access_from
from kedge.cluster.librdkafka_settings import librdkafka_settings
from kedge.errors import ClusterUnavailable, UnknownTopicOrPartition
from kedge.metrics.origins import Origin
from kedge.pipeline.sources.sample_records import SampleFiles

METRICS_TOPIC: Final = "__CruiseControlMetrics"
RECORDS_PER_POLL: Final = 10_000
POLL_S: Final = 1.0
IDLE_POLLS_MAX: Final = 30
TIMEOUT_S: Final = 30.0
MAX_RECORDS: Final = 2_000_000
Positions = dict[str, int]  # key of a partition in the manifest: the next offset


class RecordSource(Protocol):
    """Records of one cluster that can be copied to files from known positions on."""

    @property
    def cluster(self) -> str: ...

    @property
    def origin(self) -> Origin: ...

    def spool(
        self, known: Mapping[str, int], directory: Path, /, *, max_records: int
    ) -> Spooled: ...


@dataclass(frozen=True, slots=True)
class RecordTopic:
    """A topic, its cluster, and the settings of a client."""

    bootstrap: str
    topic: str
    cluster: str
    settings: Mapping[str, str]
    origin: Origin = (
        Origin.CRUISE_CONTROL
    )  # or one of `sample_records`, which have all in one topic

    def key(self, partition: int) -> str:
        """The name of a partition's position in the manifest."""
        return f"offsets:{self.topic}@{self.cluster}/{partition}"

    def spool(self, known: Mapping[str, int], directory: Path, /, *, max_records: int) -> Spooled:
        """Copy the new records to files."""
        return spool_records(self, known, directory, max_records=max_records)


@dataclass(frozen=True, slots=True)
class Spooled:
    """The positions before and after, and the number of records copied."""

    before: Positions
    after: Positions
    records: int
    inputs: tuple[tuple[Path, Origin], ...]  # directories of files, and what they are


def spool_records(
    source: RecordTopic,
    known: Mapping[str, int],
    directory: Path,
    *,
    max_records: int = MAX_RECORDS,
) -> Spooled:
    """Write the records from the known positions to the present ends into a file."""
    kafka: Any = import_module("confluent_kafka")
    config = librdkafka_settings(source.bootstrap, access_from(dict(source.settings)))
    config |= {"group.id": "kedge-metrics", "enable.auto.commit": False}
    consumer: Any = kafka.Consumer({**config, "auto.offset.reset": "error"})
    try:
        return _Spool(kafka, consumer, source).copy(known, directory, max_records)
    except kafka.KafkaException as error:
        raise ClusterUnavailable(f"{source.topic}: {error.args[0].str()}") from error
    finally:
        consumer.close()


@dataclass(frozen=True, slots=True)
class _Spool:
    kafka: Any
    consumer: Any
    source: RecordTopic

    def copy(self, known: Mapping[str, int], directory: Path, max_records: int) -> Spooled:
        starts, ends = self._ranges(known)
        before = {self.source.key(p): known.get(self.source.key(p), -1) for p in starts}
        left = {p for p in starts if starts[p] < ends[p]}
        positions, count, idle = dict(starts), 0, 0
        assigned = [self.kafka.TopicPartition(self.source.topic, p, starts[p]) for p in left]
        if assigned:
            self.consumer.assign(assigned)
        with _opened(self.source.origin, directory) as file:
            while left and count < max_records:
                records = self.consumer.consume(RECORDS_PER_POLL, POLL_S)
                idle = 0 if records else idle + 1
                if idle > IDLE_POLLS_MAX:
                    raise ClusterUnavailable(f"{self.source.topic}: no records for {idle} s")
                for record in records:
                    partition = self._checked(record)
                    if record.offset() >= ends[partition]:
                        left.discard(partition)
                        continue
                    file.write(record)
                    count += 1
                    positions[partition] = record.offset() + 1
                # compaction leaves gaps: the position may pass the end without a record
                for at in self.consumer.position(assigned):
                    if at.offset >= ends[at.partition]:
                        left.discard(at.partition)
                        positions[at.partition] = ends[at.partition]
        after = {self.source.key(p): offset for p, offset in positions.items()}
        return Spooled(before, after, count, tuple(file.inputs))

    def _checked(self, record: Any) -> int:
        error = record.error()
        if error is not None:
            raise ClusterUnavailable(f"{self.source.topic}: {error.str()}")
        return int(record.partition())

    def _ranges(self, known: Mapping[str, int]) -> tuple[dict[int, int], dict[int, int]]:
        """The offset to start at and the end of each partition."""
        topic = self.source.topic
        found = self.consumer.list_topics(topic, timeout=TIMEOUT_S).topics.get(topic)
        if found is None or found.error is not None or not found.partitions:
            raise UnknownTopicOrPartition(f"no topic {topic}", hint=self._creation_hint())
        starts: dict[int, int] = {}
        ends: dict[int, int] = {}
        for partition in sorted(found.partitions):
            at = self.kafka.TopicPartition(topic, partition)
            low, high = self.consumer.get_watermark_offsets(at, timeout=TIMEOUT_S)
            position = known.get(self.source.key(partition), low)
            starts[partition] = position if low <= position <= high else low
            ends[partition] = high
        return starts, ends

    def _creation_hint(self) -> str:
        if self.source.origin is Origin.CRUISE_CONTROL:
            return "see --topic; Cruise Control's reporter creates its own"
        return (
            "create it and fill it with `kedge pipeline produce --samples`, or sample to files "
            "with `kedge pipeline sample` and use --input"
        )


class _RecordFiles(Protocol):
    def write(self, record: Any, /) -> None: ...

    @property
    def inputs(self) -> Sequence[tuple[Path, Origin]]: ...


@contextmanager
def _opened(origin: Origin, directory: Path) -> Generator[_RecordFiles]:
    if origin is not Origin.CRUISE_CONTROL:
        yield SampleFiles(directory)
        return
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "records.jsonl").open("wb") as file:
        yield _JsonLines(file, directory)


@dataclass(frozen=True, slots=True)
class _JsonLines:
    """Records of Cruise Control as lines of one file."""

    file: IO[bytes]
    directory: Path

    @property
    def inputs(self) -> Sequence[tuple[Path, Origin]]:
        return ((self.directory, Origin.CRUISE_CONTROL),)

    def write(self, record: Any, /) -> None:
        value = record.value()
        fields = {
            "partition": record.partition(),
            "offset": record.offset(),
            "value": None if value is None else b64encode(value).decode(),
        }
        self.file.write(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE))
