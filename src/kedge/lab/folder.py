"""A lab's directory: what it was made with, who runs it now, and where it is spoken to.

lab.json        the settings, the cluster's id, the ports            (format kedge.lab/1)
store           the metadata store's journal
logs.json       what brokers have on their disks, a second old at most
lab.lock        locked by the process that runs the lab
lab.pid         that process: its id and when it started
control.sock    where it takes orders; only its owner may connect
lab.log         what a detached lab has to say
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
from kedge.lab.settings import PORT_MAX, LabSettings, settings_from, settled

FORMAT = "kedge.lab/1"
MINUTE_MS = 60_000
EPOCH_MS_MAX = 10**13  # beyond it, lab time would soon leave the calendar
LOCK_S_MAX = 1.0  # a process that was killed holds its files until its last thread is gone


@dataclass
class LabFolder:
    """A directory that holds a lab, or is about to."""

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
        """What brokers have on their disks."""
        return self.path / "logs.json"

    @property
    def control(self) -> Path:
        """Where the lab takes orders."""
        return self.path / "control.sock"

    def save(self) -> None:
        """Write down what the lab is like."""
        content = {
            "format": FORMAT,
            "cluster_id": self.cluster_id,
            "epoch_ms": self.epoch_ms,
            "ports": {str(broker): port for broker, port in self.ports.items()},
            "settings": self.settings.as_json(),
        }
        write_private(self.path / "lab.json", json.dumps(content, indent=1).encode())


class FolderLock:
    """One process at a time. The system lets go of it when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        with with_path_context(path):
            self._file = open_private(path / "lab.lock", os.O_RDWR | os.O_CREAT)
        deadline = time.monotonic() + LOCK_S_MAX
        while not _locked(self._file):
            if time.monotonic() > deadline:
                os.close(self._file)
                raise InvalidRequest(
                    f"a lab is running in {path} already",
                    hint=f"end it: kedge lab down --dir {path}",
                )
            time.sleep(0.02)

    def close(self) -> None:
        """Let go."""
        os.close(self._file)


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_lab(path: Path) -> bool:
    """Whether a directory holds a lab."""
    return (path / "lab.json").is_file()


def open_folder(path: Path) -> LabFolder:
    """The lab that a directory holds."""
    if not path.exists():
        raise InvalidRequest(f"{path}: there is no such directory", hint="start a lab there first")
    if not is_lab(path):
        raise InvalidRequest(f"{path} holds no lab", hint="start one there: kedge lab up --dir …")
    refuse_links(path)
    file = path / "lab.json"
    text = read_text(file, limit=1 << 20)
    with with_path_context(file):
        return _parsed(path, text)


def _parsed(path: Path, text: str) -> LabFolder:
    try:
        found: Any = orjson.loads(text)
        form = found["format"]
    except (ValueError, TypeError, KeyError) as fault:
        raise MalformedJson(
            "not the description of a lab", hint="name another directory"
        ) from fault
    if form != FORMAT:
        raise MalformedInput(
            f"a lab of another version ({form!r}, not {FORMAT!r})", hint="name another directory"
        )
    try:
        ports = {int(broker): int(port) for broker, port in found["ports"].items()}
        settings = settings_from(found["settings"])
        folder = LabFolder(path, settings, found["cluster_id"], found["epoch_ms"], ports)
        _check(folder)
        return folder
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise MalformedJson(f"not the description of a lab: {fault}") from fault


def _check(folder: LabFolder) -> None:
    """ValueError for what a file can hold and a lab cannot."""
    if type(folder.cluster_id) is not str or not folder.cluster_id.isprintable():
        raise ValueError("cluster_id is not text")
    if type(folder.epoch_ms) is not int or not 0 <= folder.epoch_ms <= EPOCH_MS_MAX:
        raise ValueError("epoch_ms is not a time")
    if not all(0 <= port <= PORT_MAX for port in folder.ports.values()):
        raise ValueError("a port beyond 65535")


def open_or_make(path: Path, asked: Mapping[str, Any]) -> LabFolder:
    """The lab of a directory with what somebody asks for, or a new one that is like that."""
    if is_lab(path):
        folder = open_folder(path)
        folder.settings = settled(folder.settings, asked)
        return folder
    settings = LabSettings(**asked)
    if path.exists() and (not path.is_dir() or any(_strangers(path))):
        raise InvalidRequest(
            f"{path} is there and holds no lab", hint="name a new or an empty directory"
        )
    make_directory(path)
    refuse_links(path)
    epoch_ms = int(time.time() * 1000) // MINUTE_MS * MINUTE_MS
    return LabFolder(path, settings, _new_cluster_id(), epoch_ms)


def _strangers(path: Path) -> list[str]:
    """What a lab has not put there itself before it was cut off at its very beginning."""
    ours = {"lab.lock", "lab.log", "lab.pid", "store", "store.lock", "control.sock"}
    return [name for name in os.listdir(path) if name not in ours]


def _new_cluster_id() -> str:
    return urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
