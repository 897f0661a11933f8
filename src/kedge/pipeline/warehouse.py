"""A directory of tables with one owner at a time, which changes as a whole or not at all.

    history/
      kedge-pipeline.json       says whose directory this is
      lock                      held by the run that writes, with its id
      .versions/000007/         the tables after the seventh change, and its manifest
      current -> .versions/000007
      silver  -> current/silver          and so on for every table, and for accounts.json

A run writes a new version beside the current one; what it does not change is linked into it, not
copied. When all is there, `current` is replaced in one step, so that a reader of `silver/` sees the
tables of one run and nothing else: no half-written file, none of a run that was killed. The version
before stays until the next change, for readers that had begun.
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

MARK = "kedge-pipeline.json"
FORMAT = "kedge.pipeline/1"
LOCK = "lock"
VERSIONS = ".versions"
CURRENT = "current"
ACCOUNTS = "accounts.json"
TABLES = ("bronze", "silver", "quarantine", "late", "gold", "reference")
PARTIAL = ".partial"


class Staged:
    """A version in the making."""

    def __init__(self, directory: Path, base: Path | None) -> None:
        self.directory = directory
        self.base = base

    def path(self, *parts: str) -> Path:
        """Where a table, or a part of it, goes."""
        return self.directory.joinpath(*parts)

    def before(self, *parts: str) -> Path | None:
        """Where the current version has it; None if it has not."""
        path = self.base and self.base.joinpath(*parts)
        return path if path and path.exists() else None

    def carry(self, *parts: str) -> None:
        """Take over a table or a part of it as it is."""
        before = self.before(*parts)
        if before is not None:
            shutil.copytree(before, self.path(*parts), copy_function=_link, dirs_exist_ok=True)


class Warehouse:
    """The directory, for the one who writes to it. Made by `owned`."""

    def __init__(self, root: Path, run_id: str) -> None:
        self.root = root
        self.run_id = run_id

    @property
    def current(self) -> Path | None:
        """The version that readers see."""
        return current_version(self.root)

    @property
    def manifest(self) -> Manifest:
        """What the current version is made of."""
        current = self.current
        return Manifest() if current is None else read_manifest(current)

    @contextmanager
    def change(self) -> Generator[Staged]:
        """A new version; whatever is not published is swept away at the end of the block."""
        partial = self.root / VERSIONS / f"{self.run_id}{PARTIAL}"
        partial.mkdir(parents=True)
        try:
            yield Staged(partial, self.current)
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def publish(self, staged: Staged, manifest: Manifest) -> Path:
        """Make a staged version the current one: after this call it is, before it nothing is."""
        for name in TABLES:
            staged.path(name).mkdir(exist_ok=True)
        _drop_checksums(staged.directory)
        write_atomically(staged.path(ACCOUNTS), manifest.accounts.to_json())
        write_atomically(staged.path(MANIFEST), manifest.to_json())
        before = self.current
        number = int(before.name) + 1 if before is not None else 1
        version = self.root / VERSIONS / f"{number:06d}"
        staged.directory.rename(version)
        _point(self.root / CURRENT, Path(VERSIONS, version.name))
        for name in (*TABLES, ACCOUNTS):
            _point(self.root / name, Path(CURRENT, name))
        self.sweep()
        return version

    def sweep(self) -> None:
        """Remove what killed runs left, and every version but the current one and the one before.

        A version beyond the current one was finished but never became current: it goes too.
        """
        current = self.current
        number = int(current.name) if current is not None else 0
        for entry in (self.root / VERSIONS).iterdir():
            if entry.name not in (f"{number:06d}", f"{number - 1:06d}"):
                shutil.rmtree(entry, ignore_errors=True)


@contextmanager
def owned(root: Path, run_id: str) -> Generator[Warehouse]:
    """The directory, ours alone for the time of the block; made if it is not there."""
    with with_path_context(root):
        _claim(root)
        with _locked(root, run_id):
            warehouse = Warehouse(root, run_id)
            warehouse.sweep()
            yield warehouse


def published(root: Path) -> Path:
    """The version to read; refused where there is none."""
    with with_path_context(root):
        if not root.is_dir() or not (root / MARK).is_file():
            hint = "name the --output of `kedge pipeline ingest`"
            raise InvalidRequest(f"{root}: there are no tables of the pipeline here", hint=hint)
        current = current_version(root)
        if current is None:
            raise InvalidRequest(f"{root}: no run has finished here yet", hint="ingest something")
        return current


def current_version(root: Path) -> Path | None:
    """The version that readers see, by its own name."""
    link = root / CURRENT
    return Path(os.path.realpath(link)) if link.is_symlink() and link.exists() else None


def check_ours(root: Path) -> None:
    """Refuse a directory that holds something else."""
    with with_path_context(root):
        if root.exists() and not root.is_dir():
            raise OutputNotOurs(f"{root}: this is a file", hint="--output names a directory")
        if root.is_dir() and not (root / MARK).exists() and any(root.iterdir()):
            hint = "name a new or empty directory"
            raise OutputNotOurs(f"{root}: this directory holds something else", hint=hint)
        if (root / MARK).exists() and _format_of(root) != FORMAT:
            raise OutputNotOurs(f"{root}: written in another format than {FORMAT}")


def _format_of(root: Path) -> object:
    with suppress(KedgeError, orjson.JSONDecodeError, KeyError, TypeError):
        document: Any = orjson.loads(read_bytes(root / MARK))
        return document["format"]
    return None


def _claim(root: Path) -> None:
    check_ours(root)
    root.mkdir(parents=True, exist_ok=True)
    if not (root / MARK).exists():
        write_atomically(root / MARK, orjson.dumps({"format": FORMAT}))
    (root / VERSIONS).mkdir(exist_ok=True)


@contextmanager
def _locked(root: Path, run_id: str) -> Generator[None]:
    """The lock ends with its process, however that ends."""
    with (root / LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            owner = lock.read().strip() or "another run"
            hint = "wait for it, or name another --output"
            raise OutputInUse(f"{root}: {owner} is writing here", hint=hint) from None
        lock.seek(0)
        lock.truncate()
        lock.write(f"run {run_id} (process {os.getpid()})")
        lock.flush()
        yield


def _point(link: Path, target: Path) -> None:
    """Let a link name its target from now on, in one step."""
    if link.is_symlink() and Path(os.readlink(link)) == target:
        return
    beside = link.with_name(f".{link.name}.new")
    beside.unlink(missing_ok=True)
    beside.symlink_to(target)
    os.replace(beside, link)


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)
    return target


def _drop_checksums(directory: Path) -> None:
    for path in directory.rglob(".*.crc"):
        path.unlink()
