"""The directory of a lab: settings, journal, lock, process id and control socket.

lab.json        the settings, the cluster's id, the ports            (format kedge.lab/1)
store           the metadata store's journal
controller-ID   the log of a controller (KRaft mode), in Kafka's own files
logs.json       the brokers' logs, checkpointed every second
lab.lock        held by the process that runs the lab
lab.pid         that process: its id and start time
control.sock    receives commands; only the owner can connect
lab.log         output of a detached lab
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from kedge.errors import InvalidRequest, MalformedInput, MalformedJson
from kedge.files import read_text, with_path_context
from kedge.lab.private_files import make_directory, open_private, refuse_links, write_private
from kedge.lab.settings import PORT_MAX, LabSettings, settings_from, updated_settings

FORMAT = "kedge.lab/1"
MINUTE_MS = 60_000
EPOCH_MS_MAX = 10**13  # year 2286; later times soon exceed the range of datetime
LOCK_S_MAX = 1.0  # a killed process holds its lock until its last thread has ended


@dataclass
class LabDir:
    """The directory of one lab, with the settings stored in it."""

    path: Path
    settings: LabSettings
    cluster_id: str
    epoch_ms: int  # when lab time began, since 1970
    ports: dict[int, int] = field(default_factory=dict[int, int])

    @property
    def journal(self) -> Path:
        """The store's journal."""
        return self.path / "store"

    @property
    def logs(self) -> Path:
        """The checkpoint of the brokers' logs."""
        return self.path / "logs.json"

    @property
    def control(self) -> Path:
        """The control socket."""
        return self.path / "control.sock"

    def save(self) -> None:
        """Write `lab.json`."""
        content = {
            "format": FORMAT,
            "cluster_id": self.cluster_id,
            "epoch_ms": self.epoch_ms,
            "ports": {str(broker): port for broker, port in self.ports.items()},
            "settings": self.settings.as_json(),
        }
        write_private(self.path / "lab.json", json.dumps(content, indent=1).encode())


class LabDirLock:
    """Excludes a second process. The kernel releases the lock however the process ends."""

    def __init__(self, path: Path) -> None:
        with with_path_context(path):
            self._file = open_private(path / "lab.lock", os.O_RDWR | os.O_CREAT)
        deadline = time.monotonic() + LOCK_S_MAX
        while not _locked(self._file):
            if time.monotonic() > deadline:
                os.close(self._file)
                raise InvalidRequest(
                    f"a lab is already running in {path}",
                    hint=f"end it: kedge lab down --dir {path}",
                )
            time.sleep(0.02)

    def close(self) -> None:
        """Release the lock."""
        os.close(self._file)


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_lab(path: Path) -> bool:
    """Whether a directory contains a lab."""
    return (path / "lab.json").is_file()


def open_lab_dir(path: Path) -> LabDir:
    """Read the directory of an existing lab."""
    if not path.exists():
        raise InvalidRequest(f"{path}: no such directory", hint="start a lab there first")
    if not is_lab(path):
        raise InvalidRequest(
            f"{path} contains no lab", hint="start one there: kedge lab up --dir …"
        )
    refuse_links(path)
    file = path / "lab.json"
    text = read_text(file, limit=1 << 20)
    with with_path_context(file):
        return _parsed(path, text)


def _parsed(path: Path, text: str) -> LabDir:
    try:
        found: Any = orjson.loads(text)
        form = found["format"]
    except (ValueError, TypeError, KeyError) as fault:
        raise MalformedJson("not a lab description", hint="name another directory") from fault
    if form != FORMAT:
        raise MalformedInput(
            f"unsupported lab format {form!r}, expected {FORMAT!r}", hint="name another directory"
        )
    try:
        ports = {int(broker): int(port) for broker, port in found["ports"].items()}
        settings = settings_from(found["settings"])
        lab_dir = LabDir(path, settings, found["cluster_id"], found["epoch_ms"], ports)
        _check(lab_dir)
        return lab_dir
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise MalformedJson(f"not a lab description: {fault}") from fault


def _check(lab_dir: LabDir) -> None:
    """ValueError for values outside the limits of a lab."""
    if type(lab_dir.cluster_id) is not str or not lab_dir.cluster_id.isprintable():
        raise ValueError("cluster_id is not text")
    if type(lab_dir.epoch_ms) is not int or not 0 <= lab_dir.epoch_ms <= EPOCH_MS_MAX:
        raise ValueError("epoch_ms is not a time")
    if not all(0 <= port <= PORT_MAX for port in lab_dir.ports.values()):
        raise ValueError("a port above 65535")


def open_or_create_lab_dir(path: Path, requested: Mapping[str, Any]) -> LabDir:
    """The lab of a directory with the requested changes, or a new lab with these settings."""
    if is_lab(path):
        lab_dir = open_lab_dir(path)
        lab_dir.settings = updated_settings(lab_dir.settings, requested)
        return lab_dir
    settings = LabSettings(**requested)
    if path.exists() and (not path.is_dir() or any(_foreign_files(path))):
        raise InvalidRequest(
            f"{path} exists and contains no lab", hint="name a new or an empty directory"
        )
    make_directory(path)
    refuse_links(path)
    epoch_ms = int(time.time() * 1000) // MINUTE_MS * MINUTE_MS
    return LabDir(path, settings, _new_cluster_id(), epoch_ms)


def _foreign_files(path: Path) -> list[str]:
    """Files that were not left by a lab whose first start was interrupted."""
    own_files = {"lab.lock", "lab.log", "lab.pid", "store", "store.lock", "control.sock"}
    return [name for name in os.listdir(path) if name not in own_files]


def _new_cluster_id() -> str:
    return urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
