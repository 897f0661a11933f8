"""Load models and findings, computed with numpy on Arrow tables.

    rollup ── partition_course ──┐
       │                         ├─ partition_load ──┬─ broker_load
       │    samples of leaders ──┘                   ├─ detect_findings
       └──── broker_course ── window_load            │
                 └───────────────────────────────────┘

key_index       rows of a table by the number of their key
ragged_series   functions on time series of different lengths, all keys at once
courses         time series of partitions, brokers and clusters, from the roll-up
history         what models need of the days so far; closed days are kept as a table
load_models     one row per partition or broker
disk_use        size and growth of the replicas of each broker
detect_findings findings, each with a sentence
value_bands     exact percentiles of a history without reading all of it

Every function takes whole keys: all rows of a partition, or of a broker. The driver calls them, and
for large tables the workers of Spark, each with a part of the keys. A result does not depend on the
order of rows or on how keys are split.
"""
