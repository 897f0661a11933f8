"""Snapshots in JSON, plain and as gzip; those that can be read are planned for, too."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

from kedge.balance import Goals, plan_of
from kedge.cli.parse_brokers import brokers_from_file
from kedge.files import read_snapshot, write_snapshot
from kedge.plan import plan_to_json
from tests.fuzz.documents import snapshot_document
from tests.fuzz.driver import only_refusals, start
from tests.fuzz.mutation import maybe_packed, mutated_bytes, mutated_json

PLANNED_ONE_IN = 5


def fuzz(seed: int) -> None:
    """Read a damaged snapshot; write and read it again if it is one, and plan for it."""
    random = Random(seed)
    data = mutated_json(snapshot_document(random), random)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "s.json")
        path.write_bytes(maybe_packed(data, random))
        with only_refusals():
            brokers_from_file(path)
        with only_refusals():
            snapshot = read_snapshot(path)
            for name in ("again.json", "again"):
                write_snapshot(snapshot, Path(directory, name))
                assert read_snapshot(Path(directory, name)) == snapshot
            if seed % PLANNED_ONE_IN == 0:
                plan_to_json(plan_of(snapshot, Goals(tolerance=0.1), 0))
        path.write_bytes(mutated_bytes(b"0:rack1\n1:rack2\n# none\n2\n", random))
        with only_refusals():
            brokers_from_file(path)


if __name__ == "__main__":
    start(fuzz)
