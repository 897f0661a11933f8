"""Finds files of metrics, identifies them, and parses each to measurements.

| source         | files below `--input`                                                        |
|----------------|------------------------------------------------------------------------------|
| scrape         | `<broker or instance>/<unix seconds>.prom`, the text of `/metrics`           |
| prometheus     | `*.json`: answers of `/api/v1/query_range`; other answers are left out       |
| admin          | `*.json`: snapshots of admin requests, as `kedge pipeline sample` writes them |
| cruise-control | `*.jsonl`: records of the topic, `value` in base64                           |
| kminion        | `*.prom` (`<unix seconds>.prom`) or `*.json` as above                        |

A file is known by its content; a scrape, whose broker and time are in its path, by both. Each may
be compressed (`.gz`). Files are read in blocks, and an answer of Prometheus series by
series: no file is held in memory as a whole except a single scrape or snapshot.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import zlib
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, cast

import orjson

from kedge.errors import InvalidRequest, MalformedInput
from kedge.files import open_regular, with_path_context
from kedge.files.opening import GZIP_MAGIC
from kedge.metrics.measurement import NONE
from kedge.metrics.origins import Origin
from kedge.metrics.parsing.admin_snapshots import collect_snapshot, topics_in_snapshot
from kedge.metrics.parsing.cluster_metadata import ClusterMetadata
from kedge.metrics.parsing.collector import Collector
from kedge.metrics.parsing.cruise_control import collect_record
from kedge.metrics.parsing.exposition import ScrapeTarget, collect_exposition
from kedge.metrics.parsing.name_resolution import Instances, TopicNames, unambiguous
from kedge.metrics.parsing.query_range import SeriesReader, learn_instances
from kedge.metrics.parsing.range_answers import iter_series, read_envelope
from kedge.metrics.parsing.series_names import ExporterNames, SeriesNames

TEXT_ENDINGS: Final = (".prom", ".metrics", ".om", ".txt")
ENDINGS: Final[Mapping[Origin, tuple[str, ...]]] = {
    Origin.SCRAPE: TEXT_ENDINGS,
    Origin.PROMETHEUS: (".json",),
    Origin.ADMIN: (".json",),
    Origin.CRUISE_CONTROL: (".jsonl", ".ndjson"),
    Origin.KMINION: (*TEXT_ENDINGS, ".json"),
}
ANSWER_ENDINGS: Final = (".json", ".json.gz")
BLOCK_BYTES: Final = 1 << 20
ROWS_PER_BATCH: Final = 200_000
SNAPSHOTS_READ: Final = 16  # for names of topics: few come and go between two of these
WHOLE_BYTES_MAX: Final = 256 << 20  # of a scrape or a snapshot, unpacked
DAMAGED: Final = (gzip.BadGzipFile, zlib.error, EOFError)


@dataclass(frozen=True, slots=True)
class MetricFile:
    """A file of metrics and what it is; its size is that on disk."""

    path: Path
    sha256: str
    bytes: int
    origin: Origin


@dataclass(frozen=True, slots=True)
class ParseSettings:
    """What parsing needs to know of the cluster."""

    origin: Origin
    metadata: ClusterMetadata
    topics: tuple[str, ...] = ()
    instances: Mapping[str, int] = field(default_factory=dict[str, int])
    names: SeriesNames = field(default_factory=ExporterNames)


def find_metric_files(source: Path, origin: Origin) -> list[Path]:
    """The files of this source below a directory, sorted by path; or the file itself."""
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise InvalidRequest(f"{source}: no such directory", hint="--input is a directory of files")
    found = list(_named_files(source, origin))
    if not found:
        hint = f"files of this source are named {' or '.join(f'*{e}' for e in ENDINGS[origin])}"
        raise InvalidRequest(f"{source}: has no file of {origin}", hint=hint)
    return found


def snapshots_beside(source: Path) -> Path | None:
    """The directory `admin` beside a directory of metrics, if it has snapshots."""
    beside = source.resolve().parent / "admin"
    if beside == source.resolve() or next(_named_files(beside, Origin.ADMIN), None) is None:
        return None
    return beside


def _named_files(source: Path, origin: Origin) -> Iterator[Path]:
    endings = tuple(f"{ending}{packed}" for ending in ENDINGS[origin] for packed in ("", ".gz"))
    for parent, below, names in os.walk(source):
        below[:] = sorted(name for name in below if not name.startswith("."))
        visible = (name for name in sorted(names) if not name.startswith("."))
        yield from (Path(parent, name) for name in visible if name.endswith(endings))


def distinct_files(paths: Iterable[Path], known: Iterable[str], origin: Origin) -> list[MetricFile]:
    """The files that are not known; of files that are the same the first."""
    seen = set(known)
    new: list[MetricFile] = []
    for path in paths:
        with with_path_context(path), open_regular(path) as file:
            sha256 = _identity(path, file, origin)
            if sha256 not in seen:
                seen.add(sha256)
                new.append(MetricFile(path, sha256, path.stat().st_size, origin))
    return new


def _identity(path: Path, file: IO[bytes], origin: Origin) -> str:
    """What tells a file from others: brokers that are idle export the same text again and again."""
    digest = hashlib.file_digest(cast("Any", file), "sha256")
    if origin in (Origin.SCRAPE, Origin.KMINION) and _is_text(path):
        digest.update(b"\0" + os.fsencode(f"{path.parent.name}/{path.name}"))
    return digest.hexdigest()


def _is_text(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(TEXT_ENDINGS)


def instances_in(files: Sequence[MetricFile]) -> dict[str, int]:
    """Instance to broker id, from answers whose series have both: those that begin with one."""
    pairs: list[tuple[str, int]] = []
    for file in files:
        if file.origin is not Origin.PROMETHEUS or not file.path.name.endswith(ANSWER_ENDINGS):
            continue
        with suppress(MalformedInput, OSError, *DAMAGED), _opened(file.path) as stream:
            texts = iter_series(_blocks(stream))
            first = learn_instances(islice(texts, 1))
            if first:
                pairs += [*first.items(), *learn_instances(texts).items()]
    return unambiguous(pairs)


def topics_in(files: Sequence[MetricFile]) -> set[str]:
    """The topics that admin snapshots name, of some snapshots from the first to the last one."""
    found: set[str] = set()
    paths = [file.path for file in files if file.origin is Origin.ADMIN]
    step = max(1, len(paths) // SNAPSHOTS_READ)
    for path in dict.fromkeys([*paths[::step], *paths[-1:]]):
        with suppress(MalformedInput, OSError, *DAMAGED):
            found |= topics_in_snapshot(_whole(path))
    return found


# ---- parsing ------------------------------------------------------------------------------------


def parse_metric_file(path: Path, settings: ParseSettings) -> Iterator[Collector]:
    """Collect the measurements of a file; each time that enough are together, the collector.

    The same collector is yielded again and again: the caller takes what it holds.
    """
    into = Collector(settings.metadata.cluster)
    try:
        yield from _parse(path, settings, into)
    except DAMAGED:
        into.reject("", "the compressed file is truncated or damaged")
    except UnicodeDecodeError:
        into.reject("", "the text is not UTF-8")
    except MalformedInput as error:
        into.reject("", error.what)
    yield into


def _parse(path: Path, settings: ParseSettings, into: Collector) -> Iterator[Collector]:
    bare = path.name.removesuffix(".gz")
    with with_path_context(path):
        if settings.origin is Origin.CRUISE_CONTROL:
            yield from _cruise_control(path, settings, into)
        elif settings.origin is Origin.ADMIN:
            collect_snapshot(_whole(path), into)
        elif bare.endswith(".json"):
            yield from _query_range(path, settings, into)
        else:
            target = _scrape_target(path, settings)
            text, topics = _whole(path).decode(), TopicNames(settings.topics)
            collect_exposition(text, target, settings.names, topics, into)


def _query_range(path: Path, settings: ParseSettings, into: Collector) -> Iterator[Collector]:
    with _opened(path) as stream:  # half an answer would look like brokers that are missing
        envelope = read_envelope(_blocks(stream))
    if not envelope.is_range:
        into.ignore(path.name)
        return
    for text in envelope.warnings:
        into.warn(text)
    instances = Instances(settings.metadata, settings.instances)
    reader = SeriesReader(settings.names, instances, TopicNames(settings.topics))
    with _opened(path) as stream:
        for text in iter_series(_blocks(stream)):
            reader.collect(text, into)
            if len(into) >= ROWS_PER_BATCH:
                yield into


def _cruise_control(path: Path, settings: ParseSettings, into: Collector) -> Iterator[Collector]:
    topics = TopicNames(settings.topics)
    with _opened(path) as stream:
        for line in stream:
            if not line.strip():
                continue
            try:
                record: Any = orjson.loads(line)
                value = b64decode(record["value"], validate=True)
            except (orjson.JSONDecodeError, Base64Error, KeyError, TypeError, ValueError):
                into.reject(line, "not a record of the topic")
                continue
            collect_record(value, topics, into)
            if len(into) >= ROWS_PER_BATCH:
                yield into


_SECONDS: Final = re.compile(r"(\d{9,11})(?:\.\d+)?(?=\D|\Z)")


def _scrape_target(path: Path, settings: ParseSettings) -> ScrapeTarget:
    """Broker and time of a scrape, from `<broker or instance>/<unix seconds>.prom`."""
    found = _SECONDS.match(path.name)
    if found is None:
        raise MalformedInput("no time in the name of the file", hint="name it <unix seconds>.prom")
    ts_ms = int(found[1]) * 1000
    if settings.origin is Origin.KMINION:
        return ScrapeTarget(NONE, ts_ms)
    folder = path.parent.name
    if folder.isdecimal() and int(folder) in settings.metadata.ids:
        return ScrapeTarget(int(folder), ts_ms)
    instances = Instances(settings.metadata, settings.instances)
    broker = instances.broker_of({"instance": folder})
    if broker == NONE:
        raise MalformedInput(f"the directory {folder} is no broker of the metadata")
    return ScrapeTarget(broker, ts_ms)


def _whole(path: Path) -> bytes:
    with _opened(path) as stream:
        data = stream.read(WHOLE_BYTES_MAX + 1)
    if len(data) > WHOLE_BYTES_MAX:
        raise MalformedInput("more than 256 MB")
    return data


@contextmanager
def _opened(path: Path) -> Generator[IO[bytes]]:
    """A file to read, unpacked if it is gzip."""
    with open_regular(path) as file:
        if file.peek(2)[:2] != GZIP_MAGIC:
            yield file
            return
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield cast("IO[bytes]", unpacked)


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    while block := stream.read(BLOCK_BYTES):
        yield block
