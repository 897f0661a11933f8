"""Produces samples to a topic: the jobs of `kedge pipeline produce`.

`replay` sends the rows of metrics files; `sample_periodically` samples a live cluster as rows,
`send_samples_periodically` as whole admin snapshots and scrapes. All call a `SendRow`;
`kafka_producer` has the implementation for Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson

from kedge.errors import InvalidRequest, MalformedInput
from kedge.files import open_regular, parquet, with_path_context
from kedge.model.arrow import arrow
from kedge.pipeline.jobs.admin_sampler import AdminSampler
from kedge.pipeline.jobs.cluster_sampler import Sampler
from kedge.pipeline.jobs.kafka_producer import SendRow, encode_row
from kedge.pipeline.jobs.sample_attempts import Missed, SampleAttempts
from kedge.pipeline.sources.sample_records import KINDS, sample_record

ROWS_PER_BATCH = 10_000
LINE_BYTES_MAX = 1 << 20  # a longer line is truncated: no row is that long


def replay(path: Path, send: SendRow) -> int:
    """Send the rows of a Parquet, CSV or JSON lines file unchanged; return their number.

    JSON lines are sent without parsing, malformed ones too: the stream quarantines them. For a
    directory, send all files in it, in the order of their names.
    """
    count = 0
    for file in _files(path):
        with with_path_context(file):
            for value, key in _values(file):
                send(value, key)
                count += 1
    return count


def sample_periodically(
    sampler: Sampler,
    send: SendRow,
    *,
    interval_s: float,
    count: int | None,
    wait: Callable[[float], bool],
    sampled: Callable[[int], None] = lambda rows: None,
    missed: Missed = lambda error: None,
) -> int:
    """Sample and send at each interval, `count` times or until `wait` returns True.

    A sample that fails is `missed`. Returns the number of rows.
    """
    if interval_s <= 0 or (count is not None and count < 1):
        raise InvalidRequest("the sampling interval and the count must be above 0")
    rows, attempts = 0, SampleAttempts(missed)
    while count is None or attempts.count < count:
        if attempts.count and wait(interval_s):
            break
        sample = attempts.attempt(lambda: sampler.sample(datetime.now(UTC)))
        if sample is not None:
            for row in sample:
                send(*encode_row(row))
            rows += len(sample)
            sampled(len(sample))
    attempts.finish()
    return rows


def send_samples_periodically(
    sampler: AdminSampler,
    send: SendRow,
    *,
    interval_s: float,
    count: int | None,
    wait: Callable[[float], bool],
    sampled: Callable[[int, list[str]], None],
    missed: Missed = lambda error: None,
) -> int:
    """Send each sample when it is complete, `count` times or until `wait` returns True.

    A sample that fails is `missed`. Returns the number of samples taken.
    """
    if interval_s <= 0 or (count is not None and count < 1):
        raise InvalidRequest("the sampling interval and the count must be above 0")
    sampler.prepare()
    attempts = SampleAttempts(missed)
    while count is None or attempts.count < count:
        if attempts.count and wait(interval_s):
            break
        if (sample := attempts.attempt(sampler.sample)) is not None:
            sampled(*sample)
            _send_files(sampler.out, send)
    return attempts.finish()


def _send_files(directory: Path, send: SendRow) -> None:
    """Send the files of a sample, which are then not needed any more."""
    for kind in KINDS:
        for file in sorted((directory / kind).rglob("*.gz")):
            key = file.relative_to(directory).as_posix().removesuffix(".gz")
            send(*sample_record(file, key))
            file.unlink()


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise InvalidRequest(
            f"{path}: no such file", hint="--from is a file or directory of metrics"
        )
    if not path.is_dir():
        return [path]
    found = [file for file in path.rglob("*") if file.suffix in (".parquet", ".jsonl", ".csv")]
    if not found:
        raise InvalidRequest(f"{path}: has no metrics files")
    return sorted(found, key=lambda file: (file.name, str(file)))


def _values(file: Path) -> Iterator[tuple[bytes, bytes]]:
    if file.suffix in (".jsonl", ".ndjson", ".json"):
        return _lines(file)
    return map(_encode_checked, _rows(file))


def _encode_checked(row: dict[str, Any]) -> tuple[bytes, bytes]:
    try:
        return encode_row(row)
    except TypeError as error:
        raise MalformedInput(f"a value is not a number, text or time ({error})") from error


def _lines(file: Path) -> Iterator[tuple[bytes, bytes]]:
    with open_regular(file) as lines:
        while line := lines.readline(LINE_BYTES_MAX):
            text = line.rstrip(b"\r\n")
            if text.strip():
                yield text, _key(text)


def _key(text: bytes) -> bytes:
    """The key of the replica of a line; empty for lines that cannot be parsed."""
    try:
        row: Any = orjson.loads(text)
        return encode_row(row)[1]
    except (orjson.JSONDecodeError, AttributeError, TypeError):
        return b""


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    open_regular(file).close()  # refuses a named pipe: Arrow would block until it has a writer
    try:
        for batch in _batches(file):
            yield from batch.to_pylist()
    # Arrow raises OSError for damaged pages, and invalid UTF-8 fails in the conversion to rows.
    except (arrow().ArrowException, OSError, ValueError) as error:
        raise MalformedInput("cannot be read as a table of metrics") from error


def _batches(file: Path) -> Iterable[Any]:
    if file.suffix == ".csv":
        return import_module("pyarrow.csv").open_csv(file)
    return parquet().ParquetFile(file).iter_batches(ROWS_PER_BATCH)
