"""What the pipeline keeps for itself: manifest, marks and checkpoints; and scenarios in files."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from random import Random

from kedge.pipeline.fanout.scenario_parsing import parse_grid, parse_scenarios
from kedge.pipeline.manifest import Day, Manifest, parse_manifest
from kedge.pipeline.sources.checkpoint import MARKER, Checkpoint, TopicIdentity, check_checkpoint
from kedge.pipeline.tables.location import Location
from kedge.pipeline.warehouse import check_warehouse, published_run
from tests.fuzz.driver import only_refusals, start
from tests.fuzz.mutation import mutated_bytes, mutated_json

GRID = b"traffic=1,1.5;lose-rack=none,r0+r1;add-brokers=0,2;replication-factor=none,t.*:3;seed=1"
SCENARIOS = [
    {"traffic": 2, "lose_racks": ["r0"], "add_brokers": 3, "name": "double", "seed": 1},
    {"size": 1.5, "replication_factor": {"t.*": 3}, "tolerance": 0.1, "goals": {"max_moves": 5}},
]
STREAM = {
    "format": "kedge.stream/1",
    "stream": "0a1b",
    "output": "/history",
    "cluster_id": "c",
    "topic": "metrics",
    "topic_id": "x",
}


def fuzz(seed: int) -> None:
    """Read each of them, damaged."""
    random = Random(seed)
    whole = Manifest("r1", contents={"ab": "a.csv"}, streams={"t": 1}, days={"d": Day(2, 3)})
    with only_refusals():
        manifest = parse_manifest(mutated_json(asdict(whole), random))
        manifest.accounts.check()
        parse_manifest(manifest.to_json())
    with only_refusals():
        parse_scenarios(mutated_json(random.choice((SCENARIOS, {"scenarios": SCENARIOS})), random))
    with only_refusals():
        parse_grid(mutated_bytes(GRID, random, most=3).decode(errors="replace"))
    with tempfile.TemporaryDirectory() as directory:
        _marks(Path(directory), random)


def _marks(directory: Path, random: Random) -> None:
    (directory / MARKER).write_bytes(mutated_json(STREAM, random))
    with only_refusals():
        check_checkpoint(directory, TopicIdentity("c", "metrics", "x"), Path("/history"))
    offsets = directory / "spark" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / "1").write_bytes(b"v1\n{}\n" + mutated_json({"metrics": {"0": 7}}, random))
    Checkpoint(Location.of(directory), "x").planned_rows(1)
    tables = directory / "tables"
    tables.mkdir()
    mark = tables / "kedge-pipeline.json"
    mark.write_bytes(mutated_json({"format": "kedge.pipeline/2"}, random))
    for look in (check_warehouse, published_run):
        with only_refusals():
            look(tables)


if __name__ == "__main__":
    start(fuzz)
