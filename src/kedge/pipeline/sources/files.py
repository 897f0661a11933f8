"""Which files to ingest: found, told apart by their content, and checked before Spark sees them.

A file is known by the hash of its content. The same content under another name, or met again in a
later run, is not ingested twice; that is what makes runs safe to repeat.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from kedge.errors import InvalidRequest, MalformedInput
from kedge.files import open_regular, parquet, with_path_context
from kedge.model.arrow import arrow

SAMPLE_NAMES = (
    *("cluster", "broker", "topic", "partition", "ts", "ingest_ts", "seq", "is_leader"),
    *("size_bytes", "bytes_in", "bytes_out", "isr", "rf"),
)

BYTES_PER_TEXT_ROW = 150  # for guesses of how many rows there are
Layout = tuple[tuple[str, str], ...]


class Format(StrEnum):
    """The forms of files of samples."""

    PARQUET = "parquet"
    JSONL = "jsonl"
    CSV = "csv"


ENDINGS = {
    Format.PARQUET: (".parquet",),
    Format.JSONL: (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz"),
    Format.CSV: (".csv", ".csv.gz"),
}


@dataclass(frozen=True, slots=True)
class SampleFile:
    """A file to ingest; `layout` is its columns and their types, as far as the file says so."""

    path: Path
    content: str
    rows: int
    layout: Layout


def find_files(directory: Path, form: Format) -> list[Path]:
    """The files of that form below a directory, in order of their names."""
    if not directory.is_dir():
        what = "a file, not a directory" if directory.exists() else "there is no such directory"
        raise InvalidRequest(f"{directory}: {what}", hint="--input names a directory of files")
    found: list[Path] = []
    for parent, below, names in os.walk(directory):
        below[:] = sorted(name for name in below if not name.startswith((".", "_")))
        whole = (name for name in sorted(names) if not name.startswith((".", "_")))
        found.extend(Path(parent, name) for name in whole if name.endswith(ENDINGS[form]))
    if not found:
        endings = " or ".join(f"*{ending}" for ending in ENDINGS[form][:2])
        hint = f"files of samples are named {endings}; see --format"
        raise InvalidRequest(f"{directory}: there is no {form} file in it", hint=hint)
    return found


def new_files(paths: Iterable[Path], form: Format, known: Iterable[str]) -> list[SampleFile]:
    """The files whose content is new, each checked; a content that is there twice counts once."""
    seen = set(known)
    new: list[SampleFile] = []
    for path in paths:
        with with_path_context(path):
            content = _content_id(path)
            if content not in seen:
                seen.add(content)
                new.append(_checked(path, form, content))
    return new


def _content_id(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked(path: Path, form: Format, content: str) -> SampleFile:
    if form is Format.PARQUET:
        return _checked_parquet(path, content)
    layout = _header(path) if form is Format.CSV else ()
    return SampleFile(path, content, path.stat().st_size // BYTES_PER_TEXT_ROW, layout)


# ---- Parquet ------------------------------------------------------------------------------------


def _checked_parquet(path: Path, content: str) -> SampleFile:
    pa = arrow()
    try:
        metadata = parquet().read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        hint = "it may be half written: remove it, or come back when it is whole"
        raise MalformedInput("this is no whole Parquet file", hint=hint) from error
    _check_names(schema.names)
    layout = tuple((name, _kind(name, schema.field(name).type)) for name in schema.names)
    return SampleFile(path, content, int(metadata.num_rows), layout)


def _kind(name: str, given: Any) -> str:
    """The type of a column as Spark calls it; refused if no sample can be made of it."""
    types = arrow().types
    if types.is_dictionary(given):
        given = given.value_type
    kinds = {
        "text": {"string": "string", "large_string": "string"},
        "truth": {"bool": "boolean"},
        "whole": {"int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint"},
        "time": {
            f"timestamp[{unit}{zone}]": _time_kind(unit, zone)
            for unit in ("ms", "us", "ns")
            for zone in ("", ", tz=UTC")
        },
    }[WANTED.get(name, "whole")]
    kind = kinds.get(str(given))
    if kind is None:
        wanted = " or ".join(kinds)
        raise MalformedInput(f"column {name} is {given}", hint=f"it should be {wanted}")
    return kind


def _time_kind(unit: str, zone: str) -> str:
    """Spark has no nanoseconds: they are read as whole numbers."""
    if unit == "ns":
        return "bigint"
    return "timestamp" if zone else "timestamp_ntz"


WANTED = {"cluster": "text", "topic": "text", "is_leader": "truth", "ts": "time"} | {
    "ingest_ts": "time"
}


# ---- CSV ----------------------------------------------------------------------------------------


def _header(path: Path) -> Layout:
    """The columns that the first line of a CSV file names."""
    try:
        with open_regular(path) as file:
            packed = path.name.endswith(".gz")
            line = (gzip.GzipFile(fileobj=file) if packed else file).readline(100_000).decode()
    except (gzip.BadGzipFile, zlib.error, EOFError, UnicodeDecodeError) as error:
        raise MalformedInput("this is no text") from error
    names = [name.strip().strip('"') for name in line.strip().lstrip("\ufeff").split(",")]
    _check_names(names)
    return tuple((name, "") for name in names)


def _check_names(names: list[str]) -> None:
    missing = [name for name in SAMPLE_NAMES if name not in names]
    if missing:
        what = f"there is no column {missing[0]}"
        raise MalformedInput(what, hint=f"a sample has {', '.join(SAMPLE_NAMES)}")
    unknown = sorted(set(names) - set(SAMPLE_NAMES))
    if unknown:
        raise MalformedInput(f"no sample has a column {unknown[0]}", hint="leave it out")
    if len(names) != len(SAMPLE_NAMES):
        raise MalformedInput("a column stands there twice")
