"""Samples into a topic: what `kedge pipeline produce` runs.

`replay` sends the rows of a file of metrics; `sample_on` asks a live cluster at each interval. Both
hand rows to a `Send`; `producing` has the one for Kafka.
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
from kedge.pipeline.jobs.producing import Send, as_value
from kedge.pipeline.jobs.sampling import Sampler

ROWS_AT_ONCE = 10_000
LINE_BYTES_MAX = 1 << 20  # a longer one is cut: no row is that long


def replay(path: Path, send: Send) -> int:
    """Send the rows of a Parquet, CSV or JSON lines file as they are; how many they were.

    Lines of JSON go out as they stand, broken ones too: what becomes of them is the stream's to
    say. A directory stands for the files in it, in order of their names.
    """
    count = 0
    for file in _files(path):
        with with_path_context(file):
            for value, key in _values(file):
                send(value, key)
                count += 1
    return count


def sample_on(
    sampler: Sampler,
    send: Send,
    *,
    interval_s: float,
    count: int | None,
    wait: Callable[[float], bool],
    sampled: Callable[[int], None] = lambda rows: None,
) -> int:
    """Sample and send at each interval, `count` times or until `wait` is told to stop."""
    if interval_s <= 0 or (count is not None and count < 1):
        raise InvalidRequest("sampling needs an interval and a count above 0")
    rows = taken = 0
    while count is None or taken < count:
        if taken and wait(interval_s):
            break
        told = sampler.sample(datetime.now(UTC))
        for row in told:
            send(*as_value(row))
        rows, taken = rows + len(told), taken + 1
        sampled(len(told))
    return rows


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise InvalidRequest(f"{path}: there is no such file", hint="--from names metrics")
    if not path.is_dir():
        return [path]
    found = [file for file in path.rglob("*") if file.suffix in (".parquet", ".jsonl", ".csv")]
    if not found:
        raise InvalidRequest(f"{path}: there are no metrics in it")
    return sorted(found, key=lambda file: (file.name, str(file)))


def _values(file: Path) -> Iterator[tuple[bytes, bytes]]:
    if file.suffix in (".jsonl", ".ndjson", ".json"):
        return _lines(file)
    return map(_as_value, _rows(file))


def _as_value(row: dict[str, Any]) -> tuple[bytes, bytes]:
    try:
        return as_value(row)
    except TypeError as error:
        raise MalformedInput(f"a value is no number, text or time ({error})") from error


def _lines(file: Path) -> Iterator[tuple[bytes, bytes]]:
    with open_regular(file) as lines:
        while line := lines.readline(LINE_BYTES_MAX):
            text = line.rstrip(b"\r\n")
            if text.strip():
                yield text, _key(text)


def _key(text: bytes) -> bytes:
    """The key of a line's replica; the same one for all lines that are no rows."""
    try:
        row: Any = orjson.loads(text)
        return as_value(row)[1]
    except (orjson.JSONDecodeError, AttributeError, TypeError):
        return b""


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    open_regular(file).close()  # Arrow would wait for the writer of a pipe
    try:
        for batch in _batches(file):
            yield from batch.to_pylist()
    # Arrow says OSError of damaged pages, and text that is none fails where rows are made of it.
    except (arrow().ArrowException, OSError, ValueError) as error:
        raise MalformedInput("does not read as a table of metrics") from error


def _batches(file: Path) -> Iterable[Any]:
    if file.suffix == ".csv":
        return import_module("pyarrow.csv").open_csv(file)
    return parquet().ParquetFile(file).iter_batches(ROWS_AT_ONCE)
