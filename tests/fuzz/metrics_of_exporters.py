"""Metrics of other systems, damaged: scrapes, answers, snapshots, records, metadata."""

from __future__ import annotations

import json
import tempfile
from base64 import b64encode
from pathlib import Path
from random import Random

from kedge.metrics.origins import Origin
from kedge.metrics.parsing.cluster_metadata import parse_leaders, parse_metadata
from kedge.metrics.parsing.series_mapping import parse_mapping
from kedge.metrics.replica_samples import SampleWindow, replica_samples
from kedge.model.arrow import arrow
from kedge.pipeline.sources.metric_files import ParseSettings, parse_metric_file
from tests.fuzz.driver import only_refusals, start
from tests.fuzz.mutation import maybe_packed, mutated_bytes, mutated_json
from tests.metrics.parsing.examples import METADATA, SNAPSHOT, answer, record

AT = 1_800_000_000
DAY_MS = 86_400_000
SCRAPE = (
    'kafka_server_brokertopicmetrics_bytesin_total{topic="t"} 1.5E3\n'
    'kafka_log_log_size{topic="t",partition="0",} 9 1800000000000 # {a="b"} 1\n# EOF\n'
)
LEADERS = [{"ts": AT, "topics": {"t": {"0": [1, [1, 2], [1]]}}}]
MAPPING = '[[series]]\nmetric = "a(b)?"\nseries = "bytes_in"\nlabels = {x = "y"}\nscale = 2\n'
NAME = {"__name__": "kafka_log_log_size", "instance": "b1.example:1", "topic": "t"}


def fuzz(seed: int) -> None:
    """Parse a damaged file, and attribute what was parsed of it."""
    random = Random(seed)
    with only_refusals():
        parse_metadata(mutated_json(METADATA, random))
    with only_refusals():
        parse_leaders(mutated_json(LEADERS, random))
    with only_refusals():
        parse_mapping(mutated_bytes(MAPPING.encode(), random).decode("utf-8", "replace"))
    origin, ending, data = _file(random)
    settings = ParseSettings(origin, parse_metadata(json.dumps(METADATA).encode()), ("t",))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "1", f"{AT}{ending}")
        path.parent.mkdir()
        path.write_bytes(maybe_packed(data, random))
        with only_refusals():
            batches = [each.take() for each in parse_metric_file(path, settings)]
            table = arrow().Table.from_batches(batches)
            names = arrow().repeat(arrow().scalar(str(origin)), len(table))
            kept = [topic in ("t", "") for topic in table.column("topic").to_pylist()]
            table = table.append_column("origin", names).filter(
                arrow().array(kept, arrow().bool_())
            )
            if len(table):
                replica_samples(
                    table, (), SampleWindow(60_000, AT * 1000 - DAY_MS, AT * 1000 + DAY_MS)
                )


def _file(random: Random) -> tuple[Origin, str, bytes]:
    values = [(AT + 15.0 * i, f"{i}") for i in range(4)]
    labelled = {**NAME, "partition": str(random.randrange(3))}
    kind = random.randrange(4)
    if kind == 0:
        return Origin.SCRAPE, ".prom", mutated_bytes(SCRAPE.encode(), random)
    if kind == 1:
        return Origin.PROMETHEUS, ".json", mutated_bytes(answer((labelled, values)), random)
    if kind == 2:
        return Origin.ADMIN, ".json", mutated_json(SNAPSHOT, random)
    value = mutated_bytes(record(2, 4, 7.0, "t", 0), random)
    line = json.dumps({"timestamp": AT, "value": b64encode(value).decode()}).encode()
    return Origin.CRUISE_CONTROL, ".jsonl", mutated_bytes(line, random, most=1) + b"\n" + line


if __name__ == "__main__":
    start(fuzz)
