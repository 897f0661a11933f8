"""Reads and writes files: snapshots in each of their forms, and bytes that are whole or absent.

A snapshot is `x.json`, `x.json.gz` (recognised by content when read) or a directory with
`brokers.parquet` and `partitions.parquet`; each of those two may itself be a directory of Parquet
parts, which is how Spark writes a table. A fault of a file is one sentence
that starts with its path. `opening` bounds what is read, `tables` what Parquet may unpack to, and
`names` makes a path component of any name.
"""

from __future__ import annotations

import gzip
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from typing import Any

from kedge.errors import (
    InvalidPlan,
    InvalidRequest,
    MalformedInput,
    RefusedCommand,
    Unavailable,
)
from kedge.files.names import path_component
from kedge.files.opening import LIMIT_BYTES, open_regular, read_at_most, unpacked
from kedge.files.tables import TableLimits, parquet, read_parquet, read_table
from kedge.model.arrow import arrow
from kedge.model.snapshot import Snapshot
from kedge.model.snapshot_json import parse_snapshot, sha256_of_snapshot, snapshot_to_json

PARQUET_MAGIC = b"PAR1"

REFUSALS: dict[type[OSError], str] = {
    FileNotFoundError: "there is no such file or directory",
    IsADirectoryError: "this is a directory, not a file",
    NotADirectoryError: "a part of the path is a file, not a directory",
    PermissionError: "no permission",
}


def _path(path: str | os.PathLike[str]) -> Path:
    if "\0" in os.fspath(path):
        raise InvalidRequest(f"{os.fspath(path)!r}: no path has a null character in it")
    return Path(path)


@contextmanager
def with_path_context(path: Path | str) -> Generator[None]:
    """Put the path in front of faults within the block; errors of the system become refusals."""
    try:
        yield
    except MalformedInput as fault:
        placed = type(fault)(fault.what, place=str(path), hint=fault.hint)
        placed.place = f"{path}: {fault.place}" if fault.place else str(path)
        raise placed from fault
    except (InvalidPlan, RefusedCommand) as refusal:
        raise type(refusal)(f"{path}: {refusal.what}", hint=refusal.hint) from refusal
    except OSError as error:
        for kind, what in REFUSALS.items():
            if isinstance(error, kind):
                raise InvalidRequest(f"{path}: {what}") from error
        raise Unavailable(f"{path}: {error.strerror or error}") from error


# ---- reading ------------------------------------------------------------------------------------


def read_bytes(path: str | os.PathLike[str], limit: int = LIMIT_BYTES) -> bytes:
    """A regular file's bytes, decompressed if they are gzip; refused beyond the limit."""
    path = _path(path)
    with with_path_context(path):
        return unpacked(read_at_most(path, limit), limit)


def read_text(path: str | os.PathLike[str], limit: int = LIMIT_BYTES) -> str:
    """A file's text, which must be UTF-8."""
    data = read_bytes(path, limit)
    try:
        return data.decode()
    except UnicodeDecodeError as fault:
        what = f"byte {fault.start} is not UTF-8 text"
        raise MalformedInput(what, place=os.fspath(path), hint="save it as UTF-8") from fault


def read_snapshot(
    path: str | os.PathLike[str], *, cluster: str | None = None, limit: int = LIMIT_BYTES
) -> Snapshot:
    """The snapshot in a JSON file, a gzip of one, or a directory of Parquet.

    A `cluster` that is named must be the snapshot's own; of a fleet's tables it takes that one.
    """
    path = _path(path)
    if _is_directory(path):
        return _read_directory(path, cluster, limit)
    data = read_bytes(path, limit)
    with with_path_context(path):
        if data.startswith(PARQUET_MAGIC):
            hint = "name the directory that holds brokers.parquet and partitions.parquet"
            raise MalformedInput("a single Parquet table is no snapshot", hint=hint)
        snapshot = parse_snapshot(data)
    if cluster is not None and snapshot.cluster_id not in (None, cluster):
        raise InvalidRequest(f"{path}: a snapshot of {snapshot.cluster_id}, not of {cluster}")
    return snapshot


def _is_directory(path: Path) -> bool:
    with with_path_context(path):
        return stat.S_ISDIR(path.stat().st_mode)


def _read_directory(path: Path, cluster: str | None, limit: int) -> Snapshot:
    from kedge.model import snapshot_arrow as form

    brokers = _read_table(path / form.BROKERS, form.BROKER_COLUMNS, limit)
    partitions = _read_table(path / form.PARTITIONS, form.PARTITION_COLUMNS, limit)
    with with_path_context(path):
        try:
            return form.snapshot_from_arrow(brokers, partitions, cluster=cluster)
        except MalformedInput:
            raise
        except InvalidRequest as refusal:
            raise InvalidRequest(f"{path}: {refusal.what}", hint=refusal.hint) from refusal


def _read_table(path: Path, columns: tuple[str, ...], limit: int) -> Any:
    """The known columns of a Parquet file, or of a directory of Parquet parts."""
    if not _is_directory(path):
        return _read_part(path, columns, limit)
    with with_path_context(path):
        names = sorted(part.name for part in path.iterdir() if part.suffix == ".parquet")
    # Spark's own marks and the leftovers of a write that failed start with these.
    parts = [_read_part(path / n, columns, limit) for n in names if not n.startswith(("_", "."))]
    if not parts:
        raise MalformedInput("the directory holds no Parquet parts", place=str(path))
    with with_path_context(path):
        try:
            return arrow().concat_tables(parts)
        except arrow().ArrowInvalid:
            raise MalformedInput("the Parquet parts have different columns") from None


def _read_part(path: Path, columns: tuple[str, ...], limit: int) -> Any:
    with with_path_context(path):
        limits = TableLimits(decoded_bytes=min(limit, TableLimits().decoded_bytes))
        return read_parquet(read_at_most(path, limit), columns=columns, limits=limits)


# ---- writing ------------------------------------------------------------------------------------


def write_snapshot(snapshot: Snapshot, path: str | os.PathLike[str]) -> None:
    """Write JSON (`x.json`), gzip of it (`x.json.gz`), or else a directory of Parquet."""
    path = _path(path)
    if path.name.endswith(".json"):
        write_atomically(path, snapshot_to_json(snapshot))
    elif path.name.endswith(".json.gz"):
        # No time in the header: the same snapshot is the same bytes.
        write_atomically(path, gzip.compress(snapshot_to_json(snapshot), 6, mtime=0))
    elif path.suffix == ".gz":
        raise InvalidRequest(f"{path}: a packed snapshot's name ends in .json.gz")
    else:
        write_snapshot_directory(snapshot, path)


def write_snapshot_directory(snapshot: Snapshot, path: Path) -> None:
    """Write a directory of Parquet, whatever its name ends in.

    Both files are made before either is put in place.
    Between the two renames a crash leaves one old and one new file; both name their snapshot in
    their metadata, and reading refuses such a pair.
    """
    from kedge.model.snapshot_arrow import BROKERS, PARTITIONS, snapshot_to_arrow

    tables = snapshot_to_arrow(snapshot)
    packed = (_parquet(tables.brokers), _parquet(tables.partitions))
    with with_path_context(path):
        if path.exists() and not path.is_dir():
            raise InvalidRequest(f"{path}: this is a file; a snapshot of Parquet is a directory")
        path.mkdir(parents=True, exist_ok=True)
    for name, data in zip((BROKERS, PARTITIONS), packed, strict=True):
        write_atomically(path / name, data)


def _parquet(table: Any) -> bytes:
    sink = BytesIO()
    parquet().write_table(table, sink, compression="zstd")
    return sink.getvalue()


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Put bytes at a path so that a reader finds all of them or what was there before.

    They go to a new file beside it, onto the disk, and then take its name. A failure leaves
    nothing behind. A link stays a link: it is its target that is replaced.
    """
    path = _path(path)
    with with_path_context(path):
        target = Path(os.path.realpath(path))
        mode = _mode_of_target(target)
        beside = target.parent / f".kedge-{token_hex(8)}.tmp"
        try:
            _write_through(beside, data, mode)
            os.replace(beside, target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        _sync_directory(target.parent)


def _mode_of_target(target: Path) -> int | None:
    """The permissions to keep; None when the file is new."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError
    if not stat.S_ISREG(mode):
        raise InvalidRequest(f"{target}: this is no ordinary file and cannot be replaced")
    return stat.S_IMODE(mode)


def _write_through(path: Path, data: bytes, mode: int | None) -> None:
    with path.open("xb") as file:
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    """The new name is on the disk too, not only what it names."""
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


__all__ = [
    "LIMIT_BYTES",
    "TableLimits",
    "open_regular",
    "parquet",
    "path_component",
    "read_bytes",
    "read_parquet",
    "read_snapshot",
    "read_table",
    "read_text",
    "sha256_of_snapshot",
    "with_path_context",
    "write_atomically",
    "write_snapshot",
    "write_snapshot_directory",
]
