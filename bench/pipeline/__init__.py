"""Benchmarks of the metrics pipeline: the whole `ingest` command, and its roll-up alone.

ingest         section `pipeline`: `kedge pipeline ingest` in a fresh process
days           section `pipeline_days`: a day on top of 90 days beside a day alone
former         the command beside that of another commit
rollup         section `rollup`: the transforms alone on 50 million rows, cold and warm
engines        runs the roll-up on one engine and checks its sums
spark_rollup, duckdb_rollup, polars_rollup, bare_spark    the programs that are measured
processes      CPU seconds and memory of processes

python -m bench pipeline                    a few minutes; rewrites docs/benchmarks.md
python -m bench.pipeline --sizes S,M        prints the roll-up of smaller sizes, no page
"""
