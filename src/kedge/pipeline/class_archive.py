"""The archive of Spark's classes that lets its JVM start in about half the time.

A small job spends much of its time on loading and verifying Spark's classes. The JVM can write
those that it has loaded to a file when it exits, and map the file the next time (class data
sharing). The first job of an installation writes the archive into the user's cache directory, when
the command has ended;
`KEDGE_CLASS_ARCHIVE=off` turns it off. A JVM ignores an archive that it cannot use. It writes the
first bytes last, so those of an archive that a killed JVM has left are missing.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

SWITCH: Final = "KEDGE_CLASS_ARCHIVE"
QUIET: Final = ("-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr")
MAGIC: Final = bytes.fromhex("a8ab0bf0")  # of an archive that extends that of the JDK


def class_archive() -> tuple[str, ...]:
    """The JVM options that use the archive, or else write it; none if it is turned off."""
    if os.environ.get(SWITCH) == "off" or os.environ.get("JAVA_TOOL_OPTIONS"):
        return ()
    with suppress(OSError, PackageNotFoundError):
        archive = archive_path()
        if _is_complete(archive):
            return (f"-XX:SharedArchiveFile={archive}", *QUIET)
        archive.parent.mkdir(parents=True, exist_ok=True)
        if os.access(archive.parent, os.W_OK):
            return (f"-XX:ArchiveClassesAtExit={archive}", *QUIET)
    return ()


def archive_path() -> Path:
    """Where the archive of this Java and this Spark is."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    named = os.environ.get("JAVA_HOME")
    found = str(Path(named) / "bin" / "java") if named else shutil.which("java") or "java"
    java = Path(found).resolve()
    built = str(java.stat().st_mtime_ns)  # it changes with each update of Java
    used = (str(java), built, version("pyspark"), sys.prefix, platform.machine())
    name = hashlib.sha256("\n".join(used).encode()).hexdigest()[:16]
    return Path(home) / "kedge" / f"spark-classes-{name}.jsa"


def _is_complete(archive: Path) -> bool:
    if not archive.is_file():
        return False
    with archive.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC
