"""Scrapes and admin snapshots as records of a Kafka topic: one record per file.

The key is the path of the file, `scrape/<broker>/<unix seconds>.prom` or
`admin/<unix seconds>.json`, the value its content, compressed by gzip. What is produced twice is
ingested once: the same values at the same moments are one value.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kedge.errors import InvalidRequest
from kedge.files import read_bytes
from kedge.metrics.origins import Origin
from kedge.pipeline.sources.metric_files import find_metric_files

KINDS: Final = (Origin.SCRAPE, Origin.ADMIN)
_KEY: Final = re.compile(r"scrape/[A-Za-z0-9][A-Za-z0-9._:-]*/\d{9,11}\.prom|admin/\d{9,11}\.json")
Record = tuple[bytes, bytes]  # value and key, as senders take them


def sample_records(directory: Path) -> Iterator[Record]:
    """The records of what `kedge pipeline sample` has written: `scrape/` and `admin/`, by time."""
    parts = [(kind, directory / kind) for kind in KINDS if (directory / kind).is_dir()]
    if not parts:
        hint = "--from is a directory of `kedge pipeline sample`, with admin or scrape in it"
        raise InvalidRequest(f"{directory}: has no samples", hint=hint)
    found = [
        (file, f"{kind}/{file.relative_to(part).as_posix().removesuffix('.gz')}")
        for kind, part in parts
        for file in find_metric_files(part, kind)
    ]
    for file, key in sorted(found, key=lambda each: (each[0].name, each[1])):
        yield sample_record(file, key)


def sample_record(file: Path, key: str) -> Record:
    """The record of one file."""
    return gzip.compress(read_bytes(file), 6, mtime=0), key.encode()


@dataclass(frozen=True, slots=True)
class SampleFiles:
    """Writes records of the topic back to files; of foreign ones, to files that are quarantined."""

    directory: Path

    def write(self, record: Any) -> None:
        """Write one record."""
        key = (record.key() or b"").decode("utf-8", "replace")
        if not _KEY.fullmatch(key):
            key = f"admin/foreign-{record.partition()}-{record.offset()}.json"
        path = self.directory / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(record.value() or b"")

    @property
    def inputs(self) -> list[tuple[Path, Origin]]:
        """The directories that have files."""
        parts = ((self.directory / kind, kind) for kind in KINDS)
        return [(path, kind) for path, kind in parts if path.is_dir()]
