"""Where a stream has got to: a directory that belongs to one stream from one topic to one output.

    checkpoint/
      kedge-stream.json    whose checkpoint this is
      spark/               offsets planned and batches done, as Spark keeps them

A batch is planned before it is run: its offsets are in `spark/offsets/<batch>` first, and after a
crash the same batch comes again with the same offsets. What of it is in the tables already is told
by the tables themselves, in their manifest, under the stream's name.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from kedge.errors import InvalidRequest, KedgeError
from kedge.files import read_bytes, with_path_context, write_atomically

MARK = "kedge-stream.json"
FORMAT = "kedge.stream/1"


@dataclass(frozen=True, slots=True)
class TopicIdentity:
    """A topic that is no other: of which cluster, and of which making (empty where ids are)."""

    cluster_id: str
    topic: str
    topic_id: str = ""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A directory claimed for a stream."""

    directory: Path
    stream: str  # the name under which the tables know this stream

    @property
    def spark(self) -> Path:
        """What Spark may call its own."""
        return self.directory / "spark"

    @property
    def last_done(self) -> int:
        """The last batch that Spark has seen through; -1 for none."""
        return max(_numbers(self.spark / "commits"), default=-1)

    def rows_planned(self, batch: int) -> int:
        """About how many rows a batch has, by its offsets; 0 where that cannot be told."""
        ends, starts = (self._offsets(number) for number in (batch, batch - 1))
        return sum(max(0, end - starts.get(partition, 0)) for partition, end in ends.items())

    def _offsets(self, batch: int) -> dict[str, int]:
        try:
            last = read_bytes(self.spark / "offsets" / str(batch)).splitlines()[-1]
            topics: Any = orjson.loads(last)
            return {f"{t}-{p}": int(end) for t, ends in topics.items() for p, end in ends.items()}
        except (KedgeError, IndexError, AttributeError, TypeError, ValueError):
            return {}


def check_checkpoint(directory: Path, source: TopicIdentity, output: Path) -> None:
    """Refuse a directory that belongs to another stream or to something else; writes nothing."""
    with with_path_context(directory):
        if directory.exists() and not directory.is_dir():
            hint = "--checkpoint names a directory"
            raise InvalidRequest(f"{directory}: this is a file", hint=hint)
        if not directory.is_dir() or not any(directory.iterdir()):
            return
        _check_same(_mark(directory), directory, source, output)


def claimed(directory: Path, source: TopicIdentity, output: Path) -> Checkpoint:
    """The checkpoint for this stream; made if it is not there."""
    check_checkpoint(directory, source, output)
    with with_path_context(directory):
        directory.mkdir(parents=True, exist_ok=True)
        if not (directory / MARK).exists():
            made = {"format": FORMAT, "stream": secrets.token_hex(6), "output": _named(output)}
            write_atomically(directory / MARK, orjson.dumps({**made, **asdict(source)}))
        told = _mark(directory)
        name = f"{source.topic}@{source.cluster_id}#{told['stream']}"
        return Checkpoint(directory, name)


def check_tables(checkpoint: Checkpoint, streams: Mapping[str, int]) -> None:
    """Refuse tables that this stream would leave with rows missing or rows twice."""
    done, in_tables = checkpoint.last_done, streams.get(checkpoint.stream, -1)
    if done > in_tables:
        what = f"{checkpoint.directory}: {done + 1} batches are done, the tables have"
        hint = "use a new --checkpoint and a new --output"
        raise InvalidRequest(f"{what} {in_tables + 1} of them", hint=hint)
    topic = checkpoint.stream.partition("#")[0]
    others = [s for s in streams if s.startswith(f"{topic}#") and s != checkpoint.stream]
    if others:
        what = f"the tables hold rows of {topic.partition('@')[0]} by another checkpoint already"
        hint = "go on with that checkpoint, or name a new --output"
        raise InvalidRequest(what, hint=hint)


def _mark(directory: Path) -> dict[str, str]:
    hint = "name a new directory as --checkpoint"
    wanted = ("stream", "output", "cluster_id", "topic", "topic_id")
    try:
        told: Any = orjson.loads(read_bytes(directory / MARK))
        if told["format"] == FORMAT:
            return {name: str(told[name]) for name in wanted}
    except (KedgeError, orjson.JSONDecodeError, KeyError, TypeError):
        pass
    raise InvalidRequest(f"{directory}: this is no checkpoint of a kedge stream", hint=hint)


def _check_same(
    told: Mapping[str, str], directory: Path, source: TopicIdentity, output: Path
) -> None:
    hint = "name a new directory as --checkpoint"
    if (told["cluster_id"], told["topic"]) != (source.cluster_id, source.topic):
        what = f"this is the checkpoint of topic {told['topic']} of cluster {told['cluster_id']}"
        raise InvalidRequest(f"{directory}: {what}", hint=hint)
    if told["topic_id"] and source.topic_id and told["topic_id"] != source.topic_id:
        what = f"topic {source.topic} was deleted and made anew since this checkpoint"
        raise InvalidRequest(f"{directory}: {what}", hint=f"{hint}, and a new --output")
    if told["output"] != _named(output):
        what = f"this is the checkpoint of a stream into {told['output']}"
        raise InvalidRequest(f"{directory}: {what}", hint=hint)


def _named(output: Path) -> str:
    return str(output.resolve())


def _numbers(directory: Path) -> list[int]:
    if not directory.is_dir():
        return []
    names = [entry.name for entry in directory.iterdir()]
    return [int(name) for name in names if name.isdecimal() and len(name) < 20]
