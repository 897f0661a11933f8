"""Judges attribution on drawn recordings, by the limits that hold for recordings of real clusters.

python -m tests.metrics.synthetic.judged --seeds 20 [--first-seed N] [--commands]
python -m tests.metrics.synthetic.judged --recording DIRECTORY [--commands]
"""

from __future__ import annotations

import argparse
import json
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from kedge.metrics.measurement import Series
from kedge.metrics.origins import Origin
from kedge.metrics.parsing.cluster_metadata import parse_leaders, parse_metadata
from kedge.metrics.replica_samples import SampleWindow, StateRow, replica_samples
from kedge.model.arrow import compute
from kedge.pipeline.rates_reader import mean_rates
from kedge.pipeline.sources.metric_files import ParseSettings, find_metric_files, parse_metric_file
from tests.metrics.attribution.recordings import Errors, Rates, Recording, errors
from tests.metrics.synthetic.drawn_cluster import draw_cluster
from tests.metrics.synthetic.recording_writer import RecordingWriter, draw_style

LIMITS = {  # median, p90, worst, sum of errors over the total
    ("prometheus", "in"): (0.01, 0.03, 0.08, 1.0),
    ("prometheus", "out"): (0.015, 0.05, 0.25, 1.0),
    ("scrape", "in"): (0.01, 0.03, 0.08, 1.0),
    ("scrape", "out"): (0.015, 0.05, 0.25, 1.0),
    ("cruise-control", "in"): (0.03, 9.0, 9.0, 0.10),
    ("admin", "in"): (0.01, 9.0, 9.0, 0.15),
}
WINDOWS = {"all": 900, "quiet": 300}
WITH_GROUPS = ("prometheus", "scrape")


@dataclass(frozen=True, slots=True)
class Judged:
    """The errors of one source, direction and window, and whether they are within the limits."""

    source: str
    way: str
    window: str
    errors: Errors

    @property
    def figures(self) -> tuple[float, float, float, float]:
        found = self.errors
        return found.median, found.p90, found.worst, found.of_total

    @property
    def fine(self) -> bool:
        limits = LIMITS[self.source, self.way]
        return all(one <= limit for one, limit in zip(self.figures, limits, strict=True))


def write_recording(seed: int, directory: Path) -> Recording:
    writer = RecordingWriter(draw_cluster(seed), draw_style(seed), directory)
    return Recording(writer.write())


def judge(recording: Recording, *, leaders: bool = True) -> Iterator[Judged]:
    """Judge what the functions of `ingest` and `rates` make of a recording, without Spark.

    Without leaders over time, only sources are judged that tell themselves who leads.
    """
    for source in dict.fromkeys(name for name, _ in LIMITS):
        if not leaders and source not in WITH_GROUPS:
            continue
        samples = _samples(recording, source, leaders=leaders)
        for window, seconds in WINDOWS.items():
            start, end = recording.t0, recording.t0 + seconds
            yield from _judged(recording, source, window, _rates(samples, start, end))


def judge_commands(recording: Recording, *, leaders: bool = True) -> Iterator[Judged]:
    """Judge `kedge pipeline ingest` and `kedge pipeline rates`, each in a process of its own."""
    path = recording.path
    described = ["--metadata", f"{path}/metadata.json"]
    described += ["--leaders", f"{path}/leaders.json.gz"] if leaders else []
    for source in dict.fromkeys(name for name, _ in LIMITS):
        if not leaders and source not in WITH_GROUPS:
            continue
        with tempfile.TemporaryDirectory(prefix="kedge-judged-") as tables:
            given = ["--source", source, "--input", f"{path}/{source}", *described]
            _kedge("ingest", *given, "--tables", f"{tables}/t")
            for window, seconds in WINDOWS.items():
                times = ["--from", str(recording.t0), "--to", str(recording.t0 + seconds)]
                of = ["--tables", f"{tables}/t", "--cluster", recording.cluster]
                rows = json.loads(_kedge("rates", *of, *times, "--output", "json"))
                found = {
                    (row["topic"], row["partition"]): (
                        row["in_bytes_per_s"],
                        row["out_bytes_per_s"],
                    )
                    for row in rows
                }
                yield from _judged(recording, source, window, found)


def _kedge(*words: str) -> str:
    command = [sys.executable, "-m", "kedge", "pipeline", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _judged(recording: Recording, source: str, window: str, found: Rates) -> Iterator[Judged]:
    truth = recording.truth(recording.t0, recording.t0 + WINDOWS[window])
    for which, way in enumerate(("in", "out")):
        if (source, way) in LIMITS:
            yield Judged(source, way, window, errors(found, truth, which))


def _samples(recording: Recording, source: str, *, leaders: bool) -> list[pa.Table]:
    pc = compute()
    table = _measured(recording, source)
    if source in WITH_GROUPS:
        table = pa.concat_tables([table, _measured(recording, "admin")])
    no_topic = pc.equal(table["topic"], "")
    up = table.filter(pc.and_(no_topic, pc.equal(table["series"], str(Series.UP))))
    states: dict[str, list[StateRow]] = {}
    for change in parse_leaders(recording.read("leaders.json.gz")):
        for topic, partitions in change.topics.items():
            for p, state in partitions.items():
                row = StateRow(p, change.ts_ms, state.leader, state.replicas, state.isr)
                states.setdefault(topic, []).append(row)
    return [
        replica_samples(
            pa.concat_tables([table.filter(pc.equal(table["topic"], topic)), up]),
            rows if leaders else (),
            SampleWindow(60_000),
        )
        for topic, rows in states.items()
    ]


def _measured(recording: Recording, source: str) -> pa.Table:
    metadata = parse_metadata(recording.read("metadata.json"))
    topics = tuple({name for name, _ in recording.partitions()})
    settings = ParseSettings(Origin(source), metadata, topics)
    batches = [
        collected.take()
        for path in find_metric_files(recording.path / source, Origin(source))
        for collected in parse_metric_file(path, settings)
    ]
    table = pa.Table.from_batches(batches)
    return table.append_column("origin", pa.repeat(pa.scalar(source), table.num_rows))


def _rates(samples: list[pa.Table], start: int, end: int) -> Rates:
    """As `kedge pipeline rates` computes them."""
    rows = pa.concat_tables(samples)
    found = mean_rates(rows.filter(rows["is_leader"]), "", 60, start=start, end=end)
    return {(r.topic, r.partition): (r.in_bytes_per_s, r.out_bytes_per_s) for r in found}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--recording", type=Path, help="judge this one instead of drawn ones")
    parser.add_argument("--commands", action="store_true", help="through Spark, by the commands")
    given = parser.parse_args()
    chosen = judge_commands if given.commands else judge
    if given.recording:
        return _report("recording", list(chosen(Recording(given.recording))))
    over, every = 0, list[Judged]()
    for seed in range(given.first_seed, given.first_seed + given.seeds):
        with tempfile.TemporaryDirectory(prefix="kedge-drawn-") as directory:
            recording = write_recording(seed, Path(directory) / "recording")
            found = list(chosen(recording, leaders=seed % 3 != 0))
        every += found
        over += _report(f"seed {seed}", [one for one in found if not one.fine])
    for key in dict.fromkeys((one.source, one.way, one.window) for one in every):
        of_key = [one.figures for one in every if (one.source, one.way, one.window) == key]
        print(*key, "greatest:", *(f"{figure:.2%}" for figure in np.array(of_key).max(axis=0)))
    print(f"first seed {given.first_seed}, {given.seeds} seeds, {over} over a limit")
    return min(over, 1)


def _report(name: str, found: list[Judged]) -> int:
    for one in found:
        text = "ok" if one.fine else "OVER"
        print(name, text, one.source, one.way, one.window, one.errors, flush=True)
    return sum(not one.fine for one in found)


if __name__ == "__main__":
    raise SystemExit(main())
