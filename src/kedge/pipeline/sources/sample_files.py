"""Finds the files to ingest, identifies them by their SHA-256 and validates their columns.

The same content under another name, or in a later run, is not ingested twice, so a run can be
repeated safely. Validation reads footers and headers only and needs no Spark.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from kedge.errors import InvalidRequest, MalformedInput
from kedge.files import parquet, with_path_context
from kedge.model.arrow import arrow
from kedge.pipeline.sources.input_files import InputFile, files_below

SAMPLE_NAMES = (
    *("cluster", "broker", "topic", "partition", "ts", "ingest_ts", "seq", "is_leader"),
    *("size_bytes", "bytes_in", "bytes_out", "isr", "rf"),
)

BYTES_PER_TEXT_ROW = 150  # to estimate the number of rows
Layout = tuple[tuple[str, str], ...]


class Format(StrEnum):
    """The file formats of samples."""

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
    """A file to ingest; `layout` has its columns and, for Parquet, their types."""

    path: InputFile
    sha256: str
    rows: int
    layout: Layout


def find_files(directory: str | Path, format: Format) -> list[InputFile]:
    """The files of this format below a directory of any file system, sorted by path."""
    found = files_below(directory, ENDINGS[format])
    if not found:
        endings = " or ".join(f"*{ending}" for ending in ENDINGS[format][:2])
        hint = f"files of samples are named {endings}; see --format"
        raise InvalidRequest(f"{directory}: has no {format} file", hint=hint)
    return found


def new_files(paths: Iterable[InputFile], format: Format, known: Iterable[str]) -> list[SampleFile]:
    """Validate the files with new content; of files with equal content keep the first."""
    seen = set(known)
    new: list[SampleFile] = []
    for path in paths:
        with with_path_context(str(path)):
            sha256 = _sha256(path)
            if sha256 not in seen:
                seen.add(sha256)
                new.append(_checked(path, format, sha256))
    return new


def _sha256(path: InputFile) -> str:
    with path.open() as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked(path: InputFile, format: Format, sha256: str) -> SampleFile:
    if format is Format.PARQUET:
        return _checked_parquet(path, sha256)
    layout = _header(path) if format is Format.CSV else ()
    return SampleFile(path, sha256, path.bytes // BYTES_PER_TEXT_ROW, layout)


# ---- Parquet ------------------------------------------------------------------------------------


def _checked_parquet(path: InputFile, sha256: str) -> SampleFile:
    pa = arrow()
    try:
        with path.open() as file:
            metadata = parquet().read_metadata(file)
        schema = metadata.schema.to_arrow_schema()
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        hint = "it may be incomplete: remove it, or run again when it is complete"
        raise MalformedInput("not a complete Parquet file", hint=hint) from error
    _check_names(schema.names)
    layout = tuple((name, _kind(name, schema.field(name).type)) for name in schema.names)
    return SampleFile(path, sha256, int(metadata.num_rows), layout)


def row_batches(
    file: SampleFile, rows: int, *, part: int = 0, parts: int = 1, encoded: Sequence[str] = ()
) -> Generator[Any]:
    """The rows of a Parquet file, so many at a time; MalformedInput if a part of it is damaged.

    Of `parts` of about as many row groups each, one is read. The texts of the columns `encoded`
    stay dictionary-encoded.
    """
    with with_path_context(str(file.path)), file.path.open() as opened:
        try:
            reader = parquet().ParquetFile(opened, read_dictionary=list(encoded))
            count = reader.num_row_groups
            groups = range(part * count // parts, (part + 1) * count // parts)
            yield from reader.iter_batches(rows, row_groups=list(groups))
        except OSError as error:
            if isinstance(error, FileNotFoundError | PermissionError):
                raise
            hint = "remove the file, or copy it again"
            raise MalformedInput("a part of the file is damaged", hint=hint) from error


def _kind(name: str, given: Any) -> str:
    """The Spark type of a column; refused if it does not fit the column of a sample."""
    types = arrow().types
    if types.is_dictionary(given):
        given = given.value_type
    kinds = {
        "string": {"string": "string", "large_string": "string"},
        "boolean": {"bool": "boolean"},
        "integer": {"int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint"},
        "timestamp": {
            f"timestamp[{unit}{zone}]": _time_kind(unit, zone)
            for unit in ("ms", "us", "ns")
            for zone in ("", ", tz=UTC")
        },
    }[COLUMN_KIND.get(name, "integer")]
    kind = kinds.get(str(given))
    if kind is None:
        wanted = " or ".join(kinds)
        raise MalformedInput(f"column {name} is {given}", hint=f"expected {wanted}")
    return kind


def _time_kind(unit: str, zone: str) -> str:
    """Spark has no nanosecond timestamps: they are read as integers."""
    if unit == "ns":
        return "bigint"
    return "timestamp" if zone else "timestamp_ntz"


COLUMN_KIND = {
    "cluster": "string",
    "topic": "string",
    "is_leader": "boolean",
    "ts": "timestamp",
    "ingest_ts": "timestamp",
}


# ---- CSV ----------------------------------------------------------------------------------------


def _header(path: InputFile) -> Layout:
    """The columns in the header of a CSV file."""
    try:
        with path.open() as file:
            compressed = path.name.endswith(".gz")
            line = (gzip.GzipFile(fileobj=file) if compressed else file).readline(100_000).decode()
    except (gzip.BadGzipFile, zlib.error, EOFError, UnicodeDecodeError) as error:
        raise MalformedInput("not a text file") from error
    names = [name.strip().strip('"') for name in line.strip().lstrip("\ufeff").split(",")]
    _check_names(names)
    return tuple((name, "") for name in names)


def _check_names(names: list[str]) -> None:
    missing = [name for name in SAMPLE_NAMES if name not in names]
    if missing:
        what = f"column {missing[0]} is missing"
        raise MalformedInput(what, hint=f"a sample has {', '.join(SAMPLE_NAMES)}")
    unknown = sorted(set(names) - set(SAMPLE_NAMES))
    if unknown:
        raise MalformedInput(f"unknown column {unknown[0]}", hint="remove it")
    if len(names) != len(SAMPLE_NAMES):
        raise MalformedInput("a column is duplicated")
