"""Files in a lab's directory: their owner's alone whatever the umask, and never through a link."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from secrets import token_hex

from kedge.errors import InvalidRequest
from kedge.files import with_path_context

MODE = 0o600
DIRECTORY_MODE = 0o700


def make_directory(path: Path) -> None:
    """A directory for its owner alone; one that is there becomes that."""
    with with_path_context(path):
        path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        path.chmod(DIRECTORY_MODE)


def refuse_links(folder: Path) -> None:
    """Refuse a directory in which anything is a symbolic link."""
    with with_path_context(folder), os.scandir(folder) as entries:
        links = sorted(entry.name for entry in entries if entry.is_symlink())
    if links:
        raise _refusal(folder / links[0])


def open_private(path: Path, flags: int) -> int:
    """A descriptor of a file that is no link; a new one is its owner's alone."""
    try:
        file = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, MODE)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _refusal(path) from error
        raise
    if flags & os.O_CREAT and stat.S_ISREG(os.fstat(file).st_mode):
        os.fchmod(file, MODE)
    return file


def write_private(path: Path, data: bytes) -> None:
    """Put bytes at a path, all or none of them. A link at that path is replaced, not followed."""
    with with_path_context(path):
        beside = path.with_name(f".kedge-{token_hex(8)}.tmp")
        try:
            file = open_private(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            with os.fdopen(file, "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            os.replace(beside, path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _refusal(path: Path) -> InvalidRequest:
    return InvalidRequest(
        f"{path} is a symbolic link, which a lab does not follow", hint="remove it"
    )
