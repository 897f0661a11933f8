"""Runs the watch loop on live clusters: executes the effects of its script, keeps what it decides.

    tables         what is kept, in SQLite or PostgreSQL: policy, samples, proposals, findings, lead
    watch_records  reads those tables, for every server
    watch_store    writes them for the server that leads: every write is fenced by the lead
    sampler        a live cluster as the loop observes it
    run_carrier    runs of proposals: begun once, continued by the server that leads
    loop_runner    one cluster: a script per sample, until it is stopped; keeps the lead
    webhooks       sends the events that were stored, until they are delivered

Two servers may share a database. One of them leads the loop of a cluster: it holds a lease with an
epoch, and every write checks that epoch in the same transaction. A server that stalls and is
replaced can write nothing any more. The runs themselves are kept where `kedge apply` keeps them,
fenced by Kafka, so that the next leader continues them.
"""

from kedge.watch_runtime.loop_runner import LoopRunner, WatchedCluster
from kedge.watch_runtime.watch_records import Lead, WatchRecords
from kedge.watch_runtime.watch_store import OnChange, WatchStore

__all__ = ["Lead", "LoopRunner", "OnChange", "WatchRecords", "WatchStore", "WatchedCluster"]
