"""The roll-up on DuckDB: it joins replica numbers and keeps the row with the highest `seq`.

It joins with the assignment's replicas, where the pipeline also keeps rows of other replicas; the
generated metrics have none. No limit is set to its memory.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

from bench.pipeline.processes import print_rounds

GOOD = """
    ts is not null and topic <> '' and size_bytes >= 0 and bytes_in >= 0 and bytes_out >= 0
    and isr <= rf and epoch_us(ts) - epoch_us(ingest_ts) <= 300000000
    and epoch_us(ingest_ts) - epoch_us(ts) <= 1800000000
"""
FIGURES = ("is_leader", "size_bytes", "bytes_in", "bytes_out", "isr")
ROLLUP = """
    select replica, time_bucket(interval 300 seconds, ts) as window_start, count(*) as rows,
        sum(bytes_in)::bigint as bytes_in, sum(bytes_out)::bigint as bytes_out,
        count(*) filter (is_leader) as leader_rows,
        coalesce(sum(bytes_in) filter (is_leader), 0)::bigint as leader_bytes_in,
        coalesce(sum(bytes_out) filter (is_leader), 0)::bigint as leader_bytes_out,
        max(ts) as last_ts, arg_max(size_bytes, ts) as last_size,
        max(size_bytes) as max_size_bytes, min(isr) as min_isr, max(isr) as max_isr
    from samples group by replica, window_start
"""
MODEL = """
    select replica, count(*) as windows, sum(rows)::bigint as rows,
        sum(bytes_in)::bigint as bytes_in, sum(bytes_out)::bigint as bytes_out,
        quantile_disc(bytes_in, 0.5) as p50, quantile_disc(bytes_in, 0.95) as p95,
        max(bytes_in) as "max", regr_slope(last_size, epoch(window_start)) * 86400 as growth
    from '{rollup}' group by replica
"""


def work(directory: Path, output: Path) -> None:
    """Scan, validate, deduplicate, roll up, model and write."""
    with duckdb.connect() as database:
        for setting in ("threads = 2", "TimeZone = 'UTC'", "preserve_insertion_order = false"):
            database.execute(f"set {setting}")
        database.execute(f"set temp_directory = '{output}/scratch'")
        database.execute(
            "create table replicas as select row_number() over ()::int as replica, * from ("
            "select cluster, topic, partition, unnest(replicas) as broker "
            f"from '{directory}/assignment.parquet')"
        )
        figures = ", ".join(f"arg_max({name}, seq) as {name}" for name in FIGURES)
        raw = f"read_parquet('{directory}/raw_parquet/**/*.parquet', hive_partitioning = false)"
        database.execute(
            f"create view samples as select replica, ts, {figures} from {raw} "
            "join replicas using (cluster, topic, partition, broker) "
            f"where {GOOD} group by replica, ts"
        )
        for name, query in (("rollup", ROLLUP), ("model", MODEL)):
            (output / name).mkdir()
            wanted = query.format(rollup=f"{output}/rollup/0.parquet")
            where = f"'{output}/{name}/0.parquet'"
            database.execute(f"copy ({wanted}) to {where} (format parquet, compression zstd)")


def main(directory: Path, output: Path, rounds: int) -> None:
    """Measure the rounds and print their cost."""
    print_rounds(lambda: work(directory, output), output, rounds)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
