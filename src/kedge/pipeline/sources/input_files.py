"""Files of input on any file system: found below a directory, opened for reading."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kedge.errors import InvalidRequest, MalformedInput
from kedge.files.opening import open_regular, read_at_most
from kedge.pipeline.tables.location import Location

# characters that Java escapes in the path of a URI; letters beyond ASCII are not among them
NOT_OF_A_PATH: Final = re.compile(r"[\x00-\x20%\"#<>?\[\\\]^`{|}\x7f]")


@dataclass(frozen=True, slots=True, order=True)
class InputFile:
    """A file by its path or URI."""

    path: str

    def __str__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def uri(self) -> str:
        """The absolute URI, as Spark names the file that a row was read from."""
        if not self._is_local:
            return self.path
        return "file:" + NOT_OF_A_PATH.sub(lambda found: f"%{ord(found[0]):02X}", self.spark_path)

    @property
    def spark_path(self) -> str:
        """The absolute path or URI, for Spark."""
        return os.path.abspath(self.path) if self._is_local else self.path

    @property
    def bytes(self) -> int:
        """The size of the file."""
        if self._is_local:
            return Path(self.path).stat().st_size
        return int(self._directory.info(self.name).size)

    def open(self) -> Any:
        """Open the file for reading at any position; OSError as the file system raises it."""
        if self._is_local:
            return open_regular(Path(self.path))
        with self._directory.errors(self.name):
            return self._directory.files.open_input_file(self.name)

    @property
    def _is_local(self) -> bool:
        return Location.of(self.path).is_local

    @property
    def _directory(self) -> Location:
        return Location.of(self.path.rpartition("/")[0])


def files_below(directory: str | Path, endings: tuple[str, ...]) -> list[InputFile]:
    """The files with one of these endings, sorted by path; hidden ones are left out."""
    location = Location.of(directory)
    if location.is_local:
        return _local_files(Path(directory), endings)
    found = [
        InputFile(location.child(info.path))
        for info in location.list("")
        if info.is_file and info.path.endswith(endings) and _is_visible(info.path)
    ]
    if not found and not location.names():
        raise _no_directory(directory, "no such directory")
    return sorted(found)


def _local_files(directory: Path, endings: tuple[str, ...]) -> list[InputFile]:
    if not directory.is_dir():
        what = "a file, not a directory" if directory.exists() else "no such directory"
        raise _no_directory(directory, what)
    found: list[InputFile] = []
    for parent, below, names in os.walk(directory):
        below[:] = sorted(name for name in below if _is_visible(name))
        visible = (name for name in sorted(names) if _is_visible(name))
        found.extend(InputFile(f"{parent}/{name}") for name in visible if name.endswith(endings))
    return found


def _no_directory(directory: str | Path, what: str) -> InvalidRequest:
    return InvalidRequest(f"{directory}: {what}", hint="--input is a directory of files")


def _is_visible(path: str) -> bool:
    return not any(part.startswith((".", "_")) for part in path.split("/"))


def read_input(path: str | Path, limit: int) -> bytes:
    """All bytes of a file; refused if there are more than the limit."""
    location = Location.of(path)
    if location.is_local:
        return read_at_most(Path(path), limit)
    file = InputFile(location.uri)
    if file.bytes > limit:
        raise MalformedInput(f"more than {limit} bytes", hint="is this the right file?")
    with file.open() as stream:
        return stream.read()
