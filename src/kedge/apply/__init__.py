"""Carries plans out on a live cluster, real or lab, with a journal on disk.

`execution` decides; this package observes, acts and keeps the journal.

    run_port         the port to runs: plans, journals, requests, and one owner at a time
    run_store        the port on disk, with a lock that keeps two processes apart
    observe          the cluster in the words of `execution`, and its health
    throttles        throttles read, set, confirmed and removed
    throttle_control the throttles of one run: set, changed on the way, removed
    run_requests     requests from other processes: sent, awaited, carried out
    leave_run        asks the process at work to leave a run, for a command that ends it
    health_guard     holds new moves back while the rest of the cluster is in trouble
    plan_file        the plan of a run, from a plan file or from Kafka's reassignment file
    preview          a run checked against the cluster; every refusal is raised here
    commands         what each command does in each state of a run: check, then act
    executor         the loop: observe, start what may start, report, wait, clean up
    start_moves      starts moves; what the cluster refuses is returned
    adaptive_control adapts the throttle to how the cluster copes with it
    rate_file        keeps what runs measure of links and disks, for predictions
    stuck_watch      finds moves that do not get on, and why
    cancel_rollback  cancel and roll back
    settle_runs      cleans up after processes that died
    kafka_reassign   what kafka-reassign-partitions does with a file, without a journal

Rules.

- Nothing is changed before the run was checked against the cluster as it is now.
- What will have to be undone is on disk before it is done.
- A second process finds all that it needs in the journal and the cluster: `kedge resume`,
  `kedge cancel` and `kedge rollback` work after kill -9 as they do after a clean stop.

Worked example:

    runs = Runs(state, cluster.describe().cluster_id)
    with runs.held():
        settle(cluster, runs, Waiting(), print)                 # what dead processes have left
        proposal = propose_apply(cluster, runs, plan, RunOptions(), "plan.json")
        run, outcome = carry_out(cluster, runs, proposal, Pacing())
"""

from kedge.apply.cancel_rollback import Cancelled, cancel, close, rollback_plan
from kedge.apply.commands import (
    Proposal,
    carry_out,
    propose_apply,
    propose_cancel,
    propose_resume,
    propose_rollback,
)
from kedge.apply.executor import Executor
from kedge.apply.leave_run import await_left
from kedge.apply.outcome import Outcome, Pacing
from kedge.apply.preview import Preview, RunOptions, preview, target_of
from kedge.apply.run_port import Run, RunStore, new_record
from kedge.apply.run_requests import Requested, allowed, new_request, send, worked_on
from kedge.apply.run_store import RunFiles, Runs, default_state
from kedge.apply.settle_runs import has_leftovers, is_under_way, settle
from kedge.apply.throttles import Waiting, release

__all__ = [
    "Cancelled",
    "Executor",
    "Outcome",
    "Pacing",
    "Preview",
    "Proposal",
    "Requested",
    "Run",
    "RunFiles",
    "RunOptions",
    "RunStore",
    "Runs",
    "Waiting",
    "allowed",
    "await_left",
    "cancel",
    "carry_out",
    "close",
    "default_state",
    "has_leftovers",
    "is_under_way",
    "new_record",
    "new_request",
    "preview",
    "propose_apply",
    "propose_cancel",
    "propose_resume",
    "propose_rollback",
    "release",
    "rollback_plan",
    "send",
    "settle",
    "target_of",
    "worked_on",
]
