"""The checkpoint directory of a stream: it belongs to one topic and one directory of tables.

    checkpoint/
      kedge-stream.json    marker: topic, tables and name of the stream
      spark/               Spark's checkpoint: planned offsets and committed batches

Spark writes the offsets of a batch to `spark/offsets/<batch>` before it runs the batch, and repeats
the batch with the same offsets after a crash. Whether the batch is in the tables already is in
their manifest, under the name of the stream.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from kedge.errors import InvalidRequest, KedgeError
from kedge.pipeline.tables.location import Location
from kedge.pipeline.warehouse import Place

MARKER = "kedge-stream.json"
FORMAT = "kedge.stream/1"


@dataclass(frozen=True, slots=True)
class TopicIdentity:
    """A topic by cluster, name and topic id (empty if the cluster has no topic ids)."""

    cluster_id: str
    topic: str
    topic_id: str = ""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint directory of a stream."""

    directory: Location
    stream: str  # its name in the manifest of the tables

    @property
    def spark(self) -> Location:
        """Spark's checkpoint location."""
        return Location(self.directory.child("spark"))

    @property
    def last_committed_batch(self) -> int:
        """The last batch that Spark committed; -1 for none."""
        return max(_batch_numbers(self.spark.names("commits")), default=-1)

    def planned_rows(self, batch: int) -> int:
        """The number of offsets of a batch; 0 if it cannot be read."""
        ends, starts = (self._offsets(number) for number in (batch, batch - 1))
        return sum(max(0, end - starts.get(partition, 0)) for partition, end in ends.items())

    def _offsets(self, batch: int) -> dict[str, int]:
        try:
            last = (self.spark.read(f"offsets/{batch}") or b"").splitlines()[-1]
            topics: Any = orjson.loads(last)
            return {f"{t}-{p}": int(end) for t, ends in topics.items() for p, end in ends.items()}
        except (KedgeError, IndexError, AttributeError, TypeError, ValueError):
            return {}


def check_checkpoint(directory: Place, source: TopicIdentity, output: Place) -> None:
    """Refuse a directory with another stream or other content; nothing is written."""
    location = Location.of(directory)
    if location.is_local and location.path.exists() and not location.path.is_dir():
        raise InvalidRequest(f"{location}: is a file", hint="--checkpoint is a directory")
    if location.names():
        _check_same(_read_marker(location), location, source, output)


def open_checkpoint(directory: Place, source: TopicIdentity, output: Place) -> Checkpoint:
    """The checkpoint of this stream; created if it does not exist."""
    location = Location.of(directory)
    check_checkpoint(location, source, output)
    if not location.exists(MARKER):
        made = {"format": FORMAT, "stream": secrets.token_hex(6), "output": _absolute(output)}
        location.write(MARKER, orjson.dumps({**made, **asdict(source)}))
    marker = _read_marker(location)
    return Checkpoint(location, f"{source.topic}@{source.cluster_id}#{marker['stream']}")


def check_tables_match(checkpoint: Checkpoint, streams: Mapping[str, int]) -> None:
    """Refuse tables in which this stream would lose or duplicate rows."""
    done, in_tables = checkpoint.last_committed_batch, streams.get(checkpoint.stream, -1)
    if done > in_tables:
        what = f"{checkpoint.directory}: {done + 1} batches are committed, the tables have"
        hint = "use a new --checkpoint and new --tables"
        raise InvalidRequest(f"{what} {in_tables + 1} of them", hint=hint)
    topic = checkpoint.stream.partition("#")[0]
    others = [s for s in streams if s.startswith(f"{topic}#") and s != checkpoint.stream]
    if others:
        what = f"the tables have rows of {topic.partition('@')[0]} from another checkpoint"
        hint = "continue with that checkpoint, or use new --tables"
        raise InvalidRequest(what, hint=hint)


def _read_marker(directory: Location) -> dict[str, str]:
    hint = "use a new directory as --checkpoint"
    wanted = ("stream", "output", "cluster_id", "topic", "topic_id")
    try:
        found: Any = orjson.loads(directory.read(MARKER) or b"")
        if found["format"] == FORMAT:
            return {name: str(found[name]) for name in wanted}
    except (orjson.JSONDecodeError, KeyError, TypeError):
        pass
    raise InvalidRequest(f"{directory}: not a checkpoint of a kedge stream", hint=hint)


def _check_same(
    marker: Mapping[str, str], directory: Location, source: TopicIdentity, output: Place
) -> None:
    hint = "use a new directory as --checkpoint"
    if (marker["cluster_id"], marker["topic"]) != (source.cluster_id, source.topic):
        what = f"checkpoint of topic {marker['topic']} of cluster {marker['cluster_id']}"
        raise InvalidRequest(f"{directory}: {what}", hint=hint)
    if marker["topic_id"] and source.topic_id and marker["topic_id"] != source.topic_id:
        what = f"topic {source.topic} was deleted and created again after this checkpoint"
        raise InvalidRequest(f"{directory}: {what}", hint=f"{hint}, and new --tables")
    if marker["output"] != _absolute(output):
        what = f"checkpoint of a stream into {marker['output']}"
        raise InvalidRequest(f"{directory}: {what}", hint=hint)


def _absolute(output: Place) -> str:
    location = Location.of(output)
    return str(location.path.resolve()) if location.is_local else location.uri


def _batch_numbers(names: Sequence[str]) -> list[int]:
    return [int(name) for name in names if name.isdecimal() and len(name) < 20]
