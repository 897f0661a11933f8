"""The pipeline: from weeks of metrics to the loads that plans are made from, on Spark.

Goal. A plan is only as good as the loads behind it. Brokers tell every minute what each of their
replicas holds and carries; the pipeline keeps that history, makes models of it and says what
stands out.

    bronze   every row as it arrived, and from where
    silver   one valid row per sample            quarantine, late: the rows that are not, and why
    gold     rollup · broker_load · window_load · partition_load · findings · snapshot/<cluster>

Rules.

- Nothing vanishes: rows read = kept + duplicates + superseded + late + quarantined, or the run
  fails and leaves everything as it was.
- The tables are a function of the distinct files that were ever ingested: neither the order of
  files and rows nor the cut into runs shows in them.
- A directory has one owner at a time, and changes as a whole: a reader (Spark, DuckDB, pyarrow)
  sees the tables of one run, never a mixture, and whatever a killed run left is swept away.
- Transforms are pure functions on frames, shared by batch and stream; built-in functions only.
- Only `session` makes sessions, and whatever needs no Spark (findings, loads) starts none.

    kedge pipeline ingest --input metrics/ --format parquet \
        --brokers brokers.parquet --assignment assignment.parquet --output history/
    kedge pipeline findings --output history/
    kedge pipeline loads --output history/ --cluster c00 --at p95 --out c00.snapshot/

The submodules are imported by name: pyspark comes with those that need it.
"""
