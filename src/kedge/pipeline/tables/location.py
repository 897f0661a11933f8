"""Where tables are: a directory of a disk, or of HDFS or an object store, by its URI.

All access that is not Spark's goes through one file system, with paths relative to the directory.
Spark and delta-rs take the same URI, and their credentials from the same environment variables.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from kedge.errors import InvalidRequest
from kedge.files import parquet, write_atomically
from kedge.model.arrow import Table
from kedge.pipeline.tables.remote_files import remote_files
from kedge.pipeline.tables.store_errors import any_error
from kedge.pipeline.tables.store_options import store_options

SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):/")


@dataclass(frozen=True)
class Location:
    """A directory of tables; `uri` is an absolute path or a URI such as `hdfs://host:port/path`."""

    uri: str

    @staticmethod
    def of(place: str | Path | Location) -> Location:
        """A location by its path or URI; `file:` is a path."""
        if isinstance(place, Location):
            return place
        text = str(place)
        scheme = SCHEME.match(text)
        if scheme is None:
            return Location(os.path.abspath(text))
        if scheme[1] == "file":
            return Location(os.path.abspath(unquote(urlsplit(text).path)))
        if urlsplit(text).username or "@" in urlsplit(text).netloc.partition("/")[0]:
            hint = "credentials come from the environment"
            raise InvalidRequest("--tables: an address with credentials in it", hint=hint)
        return Location(text.rstrip("/"))

    def __str__(self) -> str:
        return self.uri

    @property
    def is_local(self) -> bool:
        """Whether it is a directory of this machine, or mounted on it."""
        return self.uri.startswith("/")

    @property
    def path(self) -> Path:
        """The directory; only if it is local."""
        return Path(self.uri)

    def child(self, path: str) -> str:
        """The absolute path or URI of a path below the directory."""
        return f"{self.uri}/{path}"

    @cached_property
    def files(self) -> Any:
        """The file system whose root is this directory."""
        fs: Any = import_module("pyarrow.fs")
        if self.is_local:
            return fs.SubTreeFileSystem(self.uri, fs.LocalFileSystem())
        return remote_files(self.uri, self.options)

    @cached_property
    def options(self) -> dict[str, str] | None:
        """The options of delta-rs for this file system; they may have secrets in them."""
        return None if self.is_local else store_options(self.uri)

    # ---- small files ----------------------------------------------------------------------------

    def exists(self, path: str = "") -> bool:
        """Whether there is a file or directory."""
        if self.is_local:
            return self.path.joinpath(path).exists()
        return self.info(path).type.name != "NotFound" or bool(self.names(path))

    def names(self, path: str = "") -> list[str]:
        """The names in a directory, sorted; none if it does not exist."""
        if self.is_local:
            directory = self.path.joinpath(path)
            with self.errors(path):
                return sorted(os.listdir(directory)) if directory.is_dir() else []
        return sorted({info.base_name for info in self.list(path, recursive=False)})

    def list(self, path: str, *, recursive: bool = True) -> list[Any]:
        """What is below a directory, as pyarrow's `FileInfo`."""
        fs: Any = import_module("pyarrow.fs")
        with self.errors():
            selector = fs.FileSelector(path, allow_not_found=True, recursive=recursive)
            return self.files.get_file_info(selector)

    def read(self, path: str) -> bytes | None:
        """The content of a file; None if there is none."""
        try:
            with self.errors(), self.files.open_input_file(path) as file:
                return file.read()
        except MissingFile:
            return None

    def write(self, path: str, data: bytes) -> None:
        """Write a file so that readers find all of it or what was there before."""
        with self.errors():
            if self.is_local:
                target = self.path / path
                target.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(target, data)
                return
            with self.files.open_output_stream(path) as file:
                file.write(data)

    def open_output(self, path: str) -> Any:
        """A stream to a new file, in a directory that is created."""
        with self.errors():
            if self.is_local:
                (self.path / path).parent.mkdir(parents=True, exist_ok=True)
            return self.files.open_output_stream(path)

    def move(self, source: str, target: str) -> None:
        """Move a file, into a directory that is created."""
        with self.errors():
            if self.is_local:
                (self.path / target).parent.mkdir(parents=True, exist_ok=True)
            self.files.move(source, target)

    def delete(self, path: str) -> None:
        """Delete a directory with its content, if it exists."""
        if not self.exists(path):
            return
        with self.errors():
            if self.is_local:
                self.files.delete_dir(path)
                return
            for info in self.list(path):
                if info.is_file:
                    self.files.delete_file(info.path)

    def info(self, path: str) -> Any:
        """Kind and size of a file or directory, as pyarrow's `FileInfo`."""
        with self.errors():
            return self.files.get_file_info([path])[0]

    @contextmanager
    def errors(self, what: str = "") -> Generator[None]:
        """Raise errors of file systems and of delta-rs as one sentence without secrets."""
        place = self.child(what) if what else self.uri
        try:
            yield
        except FileNotFoundError as error:
            raise MissingFile(f"{place}: no such file or directory") from error
        except PermissionError as error:
            raise InvalidRequest(f"{place}: permission denied") from error
        except OSError as error:
            raise any_error(place, error) from error


class MissingFile(InvalidRequest):
    """A file that does not exist."""


def read_parquet_file(uri: str, columns: Sequence[str]) -> Table:
    """Columns of one Parquet file, by its absolute path or URI."""
    directory, _, name = uri.rpartition("/")
    location = Location(directory)
    with location.errors(name):
        found = parquet().ParquetFile(name, filesystem=location.files).read(columns=list(columns))
        return found.select(list(columns))
