"""Metrics pipeline on Spark: ingests replica metrics and computes the load models that plans use.

Brokers report once per minute the size and the traffic of each of their replicas. The pipeline
stores these samples, models the load of partitions and brokers, and reports findings.

    bronze   every row as it arrived, with its source
    silver   one valid row per sample            quarantine, late: rejected rows and the reason
    gold     rollup · broker_load · window_load · partition_load · findings · snapshot/<cluster>
             finding_history · broker_health

Invariants.

- No row is dropped silently: rows read = kept + duplicates + superseded + late + quarantined.
  Otherwise the run fails and leaves the tables unchanged.
- The tables are a function of the set of distinct files ever ingested. The order of files and rows
  and the split into runs do not change them (but `finding_history`, which is about runs).
- A row in the table `runs` commits a run, all tables at once: a reader that takes its versions sees
  the tables of exactly one run. Of two runs at once the second is refused, and no reader sees what
  a killed run has left behind.
- Transforms are pure functions on DataFrames, shared by batch and stream, and use built-in
  functions only.
- Only `session` creates Spark sessions. Up to some million rows are merged without one
  (`in_process`). Commands that only read tables (findings, loads, capacity, cost, slow-brokers)
  start none and do not import pyspark; they read through `table_reader`.

    kedge pipeline ingest --input metrics/ --format parquet \
        --brokers brokers.parquet --assignment assignment.parquet --tables history/
    kedge pipeline findings --tables history/
    kedge pipeline loads --tables history/ --cluster c00 --at p95 --out c00.snapshot/

Import the submodules by name: pyspark is imported only by those that need it.
"""
