"""A directory of versioned tables: one writer at a time, and atomic replacement of all tables.

    history/
      kedge-pipeline.json       marker: the format of this directory
      lock                      locked by the run that writes; contains its id
      .versions/000007/         the tables after the seventh run, and their manifest
      current -> .versions/000007
      silver  -> current/silver          and so on for every table, and for accounts.json

A run writes a new version beside the current one; unchanged files are hard-linked, not copied. When
the version is complete, the symbolic link `current` is replaced atomically, so a reader of
`silver/` sees the tables of exactly one run: no partial file and none of a killed run. The previous
version is kept until the next run, for readers that have it open.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson

from kedge.errors import InvalidRequest, KedgeError, OutputInUse, OutputNotOurs
from kedge.files import read_bytes, with_path_context, write_atomically
from kedge.pipeline.manifest import MANIFEST, Manifest, read_manifest

MARKER = "kedge-pipeline.json"
FORMAT = "kedge.pipeline/1"
LOCK = "lock"
VERSIONS = ".versions"
CURRENT = "current"
ACCOUNTS = "accounts.json"
MEASUREMENTS = "measurements"
TABLES = ("bronze", "silver", "quarantine", "late", "gold", "reference", MEASUREMENTS)
PARTIAL = ".partial"


class StagedVersion:
    """A version that is being written."""

    def __init__(self, directory: Path, base: Path | None) -> None:
        self.directory = directory
        self.base = base

    def path(self, *parts: str) -> Path:
        """The path of a table, or of a part of it, in this version."""
        return self.directory.joinpath(*parts)

    def current_path(self, *parts: str) -> Path | None:
        """The same path in the current version; None if it does not exist."""
        path = self.base and self.base.joinpath(*parts)
        return path if path and path.exists() else None

    def link_current(self, *parts: str) -> None:
        """Link a table, or a part of it, from the current version."""
        current = self.current_path(*parts)
        if current is not None:
            shutil.copytree(current, self.path(*parts), copy_function=_link, dirs_exist_ok=True)


class Warehouse:
    """The directory, opened for writing by `open_warehouse`."""

    def __init__(self, root: Path, run_id: str) -> None:
        self.root = root
        self.run_id = run_id

    @property
    def current(self) -> Path | None:
        """The version that readers see."""
        return current_version(self.root)

    @property
    def manifest(self) -> Manifest:
        """The manifest of the current version."""
        current = self.current
        return Manifest() if current is None else read_manifest(current)

    @contextmanager
    def stage(self) -> Generator[StagedVersion]:
        """A new version; it is removed at the end of the block unless it was published.

        It has the measurements of the current version: a run only adds to them.
        """
        partial = self.root / VERSIONS / f"{self.run_id}{PARTIAL}"
        partial.mkdir(parents=True)
        try:
            staged = StagedVersion(partial, self.current)
            staged.link_current(MEASUREMENTS)
            yield staged
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    @property
    def next_number(self) -> int:
        """The number of the version that the next run publishes."""
        current = self.current
        return int(current.name) + 1 if current is not None else 1

    def publish(self, staged: StagedVersion, manifest: Manifest) -> Path:
        """Make a staged version the current one, atomically."""
        for name in TABLES:
            staged.path(name).mkdir(exist_ok=True)
        _remove_checksum_files(staged.directory)
        write_atomically(staged.path(ACCOUNTS), manifest.accounts.to_json())
        write_atomically(staged.path(MANIFEST), manifest.to_json())
        version = self.root / VERSIONS / f"{self.next_number:06d}"
        staged.directory.rename(version)
        _replace_symlink(self.root / CURRENT, Path(VERSIONS, version.name))
        for name in (*TABLES, ACCOUNTS):
            _replace_symlink(self.root / name, Path(CURRENT, name))
        self.remove_leftovers()
        return version

    def remove_leftovers(self) -> None:
        """Remove what killed runs left, and all versions but the current and the previous one.

        A version with a higher number was complete but never published: it is removed too.
        """
        current = self.current
        number = int(current.name) if current is not None else 0
        for entry in (self.root / VERSIONS).iterdir():
            if entry.name not in (f"{number:06d}", f"{number - 1:06d}"):
                shutil.rmtree(entry, ignore_errors=True)


@contextmanager
def open_warehouse(root: Path, run_id: str) -> Generator[Warehouse]:
    """Lock the directory for the duration of the block; create it if it does not exist."""
    with with_path_context(root):
        _initialise(root)
        with _exclusive_lock(root, run_id):
            warehouse = Warehouse(root, run_id)
            warehouse.remove_leftovers()
            yield warehouse


def published_version(root: Path) -> Path:
    """The version that readers see; InvalidRequest if there is none."""
    with with_path_context(root):
        if not root.is_dir() or not (root / MARKER).is_file():
            hint = "use the --tables of `kedge pipeline ingest`"
            raise InvalidRequest(f"{root}: not a directory of pipeline tables", hint=hint)
        current = current_version(root)
        if current is None:
            raise InvalidRequest(
                f"{root}: no run has finished yet", hint="run `kedge pipeline ingest`"
            )
        return current


def current_version(root: Path) -> Path | None:
    """The version that `current` points to, as a path without symbolic links."""
    link = root / CURRENT
    return Path(os.path.realpath(link)) if link.is_symlink() and link.exists() else None


def check_warehouse(root: Path) -> None:
    """Refuse a directory that has other content, or tables of another format."""
    with with_path_context(root):
        if root.exists() and not root.is_dir():
            raise OutputNotOurs(f"{root}: is a file", hint="--tables is a directory")
        if root.is_dir() and not (root / MARKER).exists() and any(root.iterdir()):
            hint = "use a new or empty directory"
            raise OutputNotOurs(f"{root}: the directory has other content", hint=hint)
        if (root / MARKER).exists() and _format_of(root) != FORMAT:
            raise OutputNotOurs(f"{root}: written in another format than {FORMAT}")


def _format_of(root: Path) -> object:
    with suppress(KedgeError, orjson.JSONDecodeError, KeyError, TypeError):
        document: Any = orjson.loads(read_bytes(root / MARKER))
        return document["format"]
    return None


def _initialise(root: Path) -> None:
    check_warehouse(root)
    root.mkdir(parents=True, exist_ok=True)
    if not (root / MARKER).exists():
        write_atomically(root / MARKER, orjson.dumps({"format": FORMAT}))
    (root / VERSIONS).mkdir(exist_ok=True)


@contextmanager
def _exclusive_lock(root: Path, run_id: str) -> Generator[None]:
    """Hold the lock; the kernel releases it when the process ends, however it ends."""
    with (root / LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            writer = lock.read().strip() or "another run"
            hint = "wait until it ends, or use other --tables"
            raise OutputInUse(f"{root}: locked by {writer}", hint=hint) from None
        lock.seek(0)
        lock.truncate()
        lock.write(f"run {run_id} (process {os.getpid()})")
        lock.flush()
        yield


def _replace_symlink(link: Path, target: Path) -> None:
    """Create or replace a symbolic link atomically."""
    if link.is_symlink() and Path(os.readlink(link)) == target:
        return
    new = link.with_name(f".{link.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    os.replace(new, link)


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without hard links
        shutil.copy2(source, target)
    return target


def _remove_checksum_files(directory: Path) -> None:
    for path in directory.rglob(".*.crc"):
        path.unlink()
