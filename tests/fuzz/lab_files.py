"""A lab's directory: its settings, its logs, its process id."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from kedge.brokers.disks import Disks
from kedge.lab.daemon import read_pid
from kedge.lab.lab_dir import open_lab_dir
from kedge.lab.log_checkpoint import LogCheckpoint, records_of
from kedge.lab.settings import LabSettings
from tests.fuzz.driver import only_refusals, start
from tests.fuzz.mutation import mutated_bytes, mutated_json

LOG = [0, "d0", "orders", 0, "id", 3, 40, 38, 4000, [[0, 3], [2, 17]], 1000, 9000]


def fuzz(seed: int) -> None:
    """Read each of them, damaged; logs that can be read are put on disks."""
    random = Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "lab.json").write_bytes(mutated_json(_lab(), random))
        with only_refusals():
            open_lab_dir(folder).save()
        (folder / "logs.json").write_bytes(mutated_json(_logs(), random))
        with only_refusals():
            for row in LogCheckpoint.read(folder / "logs.json").get("logs", []):
                Disks().create(row.tp, row.topic_id).append(list(records_of(row)))
        pid = random.choice((b"[4194305,77]", b"[1,2]"))
        (folder / "lab.pid").write_bytes(mutated_bytes(pid, random))
        read_pid(folder)


def _lab() -> dict[str, Any]:
    settings = json.loads(json.dumps(LabSettings().as_json()))
    named = {"format": "kedge.lab/1", "cluster_id": "abc", "epoch_ms": 1_700_000_000_000}
    return {**named, "ports": {"0": 40001, "1": 40002}, "settings": settings}


def _logs() -> dict[str, Any]:
    kept = {"format": "kedge.lab.logs/1", "now_ms": 60_000, "logs": [LOG, [1, *LOG[1:]]]}
    return {**kept, "pending": [["orders", 0, 7]], "futures": [[0, "orders", 0, "d1", 5]]}


if __name__ == "__main__":
    start(fuzz)
