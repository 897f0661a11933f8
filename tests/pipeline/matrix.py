"""`python -m tests.pipeline.matrix --sizes XS,S,M --seeds 3,4`: check sizes, seeds and formats.

Metrics with known answers are generated and ingested as Parquet, JSON lines and CSV, with Spark as
users run it, and Parquet once more without Spark; every account, sum, percentile and injected
finding must be the expected one. All are checked before the command fails. (XS may fail for its hot
brokers: with eight leaders for each, chance hides or adds some.) With `--cluster`, the largest size
is also ingested on a standalone cluster of this machine, and every table must have the rows that it
has locally.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

from pyspark.sql import SparkSession

from kedge.pipeline.generator import generate
from kedge.pipeline.jobs.ingest import ingest
from kedge.pipeline.session import SessionSettings, spark_session
from kedge.pipeline.sources.sample_files import Format
from kedge.pipeline.spark_cluster import spark_cluster
from tests.pipeline.conftest import Metrics
from tests.pipeline.oracle import TABLES, check_all, query, scan
from tests.pipeline.without_spark import no_spark

ANY = 10**9  # rows


def main() -> int:
    """Generate, ingest and check."""
    options = argparse.ArgumentParser(prog="python -m tests.pipeline.matrix")
    options.add_argument("--sizes", default="XS,S,M")
    options.add_argument("--seeds", default="3,4")
    options.add_argument("--cluster", action="store_true", help="the largest on a cluster, too")
    parsed = options.parse_args()
    seeds = [int(seed) for seed in parsed.seeds.split(",")]
    every: list[Metrics] = []
    missed = 0
    with tempfile.TemporaryDirectory(prefix="kedge-matrix-") as scratch:
        with spark_session(SessionSettings()) as spark:
            for size in parsed.sizes.split(","):
                for seed in seeds:
                    every.append(_made(Path(scratch) / f"{size}-{seed}", size, seed))
                    for form in Format:
                        missed += not _is_as_expected(every[-1], form, spark)
                    missed += not _is_as_expected(every[-1], Format.PARQUET, None)
        if parsed.cluster:
            _compare(every[-1], Path(scratch))
    return 1 if missed else 0


def _made(directory: Path, size: str, seed: int) -> Metrics:
    formats = tuple(str(form) for form in Format)
    expected = generate(directory, size=size, seed=seed, formats=formats)
    return Metrics(directory, json.loads(json.dumps(expected)))


def _is_as_expected(made: Metrics, form: Format, spark: SparkSession | None) -> bool:
    began = time.perf_counter()
    how = str(form) if spark else f"{form}, without Spark"
    output = made.directory / f"history-{form}-{'spark' if spark else 'here'}"
    if spark is None:
        done = ingest(made.request(form, output), no_spark, rows_here_max=ANY)
    else:
        done = ingest(made.request(form, output), lambda rows: nullcontext(spark))
    took = time.perf_counter() - began
    try:
        check_all(made, output, form)
    except AssertionError as difference:
        verdict = f"not as expected: {difference}"
    else:
        verdict = "as expected"
    print(f"{made.directory.name} {how}: {done.rows:,} rows {verdict}, {took:.0f} s", flush=True)
    return verdict == "as expected"


def _compare(made: Metrics, scratch: Path) -> None:
    """The tables of a cluster beside those of one process."""
    here = made.directory / f"history-{Format.PARQUET}-spark"
    there = made.directory / "history-cluster"
    with spark_cluster(scratch / "cluster") as cluster:
        session = SessionSettings(master=cluster.url, driver_memory="1g")
        ingest(
            made.request(Format.PARQUET, there), lambda rows: spark_session(session.for_rows(rows))
        )
    for table, columns in TABLES.items():
        one, other = (f"select {columns} from {scan(at, table)}" for at in (here, there))
        for first, second in ((one, other), (other, one)):
            (count,) = query(f"select count(*) from (({first}) except all ({second}))")[0]
            assert count == 0, f"{table}: {count} rows differ"
    print(f"{made.directory.name}: {len(TABLES)} tables on a cluster as here", flush=True)


if __name__ == "__main__":
    sys.exit(main())
