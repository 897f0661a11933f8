"""Runs the planner in parallel on Spark: what-if scenarios, fleet plans, plan verification.

One plan takes seconds; a fleet of clusters, a grid of scenarios or a year of plans takes hours on
one core. They are independent calls of `kedge.balance`, which Spark distributes over its workers. A
worker calls the functions of `kedge plan` with the same arguments, so the results are the same.

    scenarios          changes of traffic, size, racks, brokers, replication factors, tolerances
    scenario_parsing   scenarios from a grid or from JSON
    what_if            one row = one scenario → the figures of its plan, or why there is none
    fleet_plans        one row = one cluster of gold → its plan, as a file
    verify_plans       one row = one plan file → its findings
    map_rows           applies a function to rows on all workers, with Arrow batches
    what_if_chart      the scenarios as an HTML chart

Rules.

- Rows have paths, not data. A worker reads the snapshot or plan of its row, so all workers need
  access to the same files. A worker caches the last snapshot.
- A scenario without a feasible plan is a row with the reason. A job fails only if a worker cannot
  read a file or dies.
- Results are in the order of the input rows.
- Only DataFrames and Arrow are used, no RDD and no SparkContext, so Spark Connect works too.

Worked example, `--grid "traffic=1,2;lose-rack=none,r0"` is four rows, the last axis fastest:

    number  scenario               snapshot and goals of the plan
    0       as it is               unchanged
    1       lose r0                remove_brokers = the brokers of r0
    2       traffic ×2             bytes in and out doubled
    3       traffic ×2, lose r0    both

Import the submodules by name: numba and pyspark are imported only by those that need them.
"""
