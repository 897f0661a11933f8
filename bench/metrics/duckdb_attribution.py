"""The attribution alone on DuckDB: bytes in of topics and minutes, split by growth of end offsets.

python -m bench.metrics.duckdb_attribution DIRECTORY OUTPUT
"""

from __future__ import annotations

import sys
from pathlib import Path

SPLIT = """
copy (
  with gained as (
    select topic, partition, ts, end_offset - lag(end_offset) over
      (partition by topic, partition order by ts) as records
    from '{source}/offsets/*.parquet'),
  counted as (
    select topic, ts, sum(bytes) as bytes from (
      select topic, ts, bytes_in - lag(bytes_in) over
        (partition by topic, broker order by ts) as bytes
      from '{source}/counters/*.parquet') group by topic, ts),
  shares as (
    select topic, ts, sum(records) as records from gained group by topic, ts)
  select topic, partition, ts, counted.bytes * gained.records / shares.records as bytes_in
  from gained join counted using (topic, ts) join shares using (topic, ts)
  where gained.records is not null
) to '{output}/samples.parquet' (format parquet, compression zstd)
"""


def main(source: Path, output: Path) -> None:
    """Write the samples, and print the sum of their bytes."""
    import duckdb

    output.mkdir(parents=True)
    with duckdb.connect() as database:
        database.execute("set threads to 2")
        database.execute("set memory_limit = '3GB'")
        database.execute(f"set temp_directory = '{output}/spill'")
        database.execute(SPLIT.format(source=source, output=output))
        samples = f"'{output}/samples.parquet'"
        found = database.execute(f"select round(sum(bytes_in)) from {samples}").fetchall()
    print(int(found[0][0]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
