"""The prediction of a run before its command asks: shown, and refused where it cannot end well."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kedge.cli.connection import echo_json
from kedge.cli.options import Output, note, say

if TYPE_CHECKING:
    from kedge.apply import Preview, Proposal, RunStore
    from kedge.apply.predict_run import PredictedRun
    from kedge.cli.apply_options import ApplyOptions
    from kedge.cluster.port import Cluster
    from kedge.model import Snapshot


def predicted_on(
    snapshot: Snapshot, runs: RunStore, judged: Preview, options: ApplyOptions
) -> PredictedRun:
    """What the run will be like on the cluster of a snapshot, and the rate it begins with."""
    from kedge.apply.predict_run import circumstances_of, predicted_run
    from kedge.cli.run_options import state_directory

    poll_s = options.interval_s(len(judged.changes))
    around = circumstances_of(runs, state=state_directory(options.state), poll_s=poll_s)
    return predicted_run(judged, snapshot, around)


def predicted_now(
    cluster: Cluster,
    runs: RunStore,
    proposal: Proposal,
    options: ApplyOptions,
    loads: Snapshot | None = None,
) -> tuple[Proposal, PredictedRun | None]:
    """What a proposed run will be like on the cluster as it is, with the rates of `loads`.

    The proposal that is returned has the rate that a throttle which adapts begins with. A run does
    not depend on its prediction: where that fails, a note says why.
    """
    from kedge.cli.snapshot import snapshot_now
    from kedge.errors import KedgeError

    if proposal.judged is None:
        return proposal, None
    try:
        snapshot = _with_rates(snapshot_now(cluster), loads)
        run = predicted_on(snapshot, runs, proposal.judged, options)
    except KedgeError as fault:
        note(f"no prediction: {fault}")
        return proposal, None
    return replace(proposal, judged=run.judged), run


def _with_rates(snapshot: Snapshot, loads: Snapshot | None) -> Snapshot:
    """A snapshot with the rates that another one has, if it has any of its partitions."""
    from kedge.errors import InvalidRequest
    from kedge.pipeline.load_snapshots import loads_on

    if loads is None:
        return snapshot
    try:
        return loads_on(snapshot, loads)[0]
    except InvalidRequest:
        return snapshot


def show_proposal(proposal: Proposal, run: PredictedRun | None, options: ApplyOptions) -> None:
    """What a command is about to do, for people; for programs where that is all it does.

    A run that begins is refused where `kedge predict` refuses its plan. One that continues, or is
    undone, is the way out of trouble: it gets a warning.
    """
    from kedge.execution import Action
    from kedge.execution.prediction import refuse_problems
    from kedge.report.prediction import eta_line
    from kedge.report.proposals import proposal_row
    from kedge.report.runs import proposal_lines

    for line in proposal_lines(proposal):
        say(line)
    if run is not None:
        say(eta_line(run))
    if options.dry_run and options.output is Output.JSON:
        echo_json(proposal_row(proposal, run))
    if run is None:
        return
    if proposal.action is Action.START:
        refuse_problems(run.prediction)
    for problem in run.prediction.problems:
        say(f"warning: {problem.what}; {problem.hint}")
