"""The planner on many workers: a fleet's plans, hundreds of scenarios, plans checked at scale.

Goal. One plan takes seconds; a fleet of clusters, a grid of scenarios or a year of plans takes
hours on one core. Each of them is many independent calls of `kedge.balance`, so Spark carries them
to whoever has time. Nothing is decided here: a worker calls the very functions that `kedge plan`
calls, with the same arguments, and gives the same answers.

    scenarios   what if: more traffic, a rack gone, more brokers, other factors, other tolerances
    asking      scenarios as people write them: a grid, or JSON
    what_if     one row = one scenario → what its plan would come to, or why there is none
    fleet       one row = one cluster of gold → its plan, as a file
    verify      one row = one plan file → what is wrong with it
    spread      rows in, rows out, by Arrow batches; the only file here that knows Spark
    picture     the scenarios drawn

Rules.

- Data travels by paths. A row names its snapshot or plan, and a worker reads it; all workers reach
  the same files. A worker that has read a snapshot keeps it for the next row.
- A demand that cannot be met is a row with its reason. What fails a job is a fault of the machine:
  a file that a worker cannot read, a worker that dies.
- The order of rows in an answer is the order of the question, whatever worker was first.
- Only frames and Arrow are used, no RDD and no context, so a Spark Connect server will do as well.

Worked example, `--grid "traffic=1,2;lose-rack=none,r0"` is four rows, the last axis fastest:

    number  scenario               goals and snapshot handed to `figures_of`
    0       as it is               as they are
    1       lose r0                remove_brokers = the brokers of r0
    2       traffic ×2             bytes in and out doubled
    3       traffic ×2, lose r0    both

The submodules are imported by name: numba and pyspark come with those that need them.
"""
