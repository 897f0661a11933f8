"""Where the runs of a cluster are kept when no place was named: in the cluster, if it lets them be.

    a run of the directory has not ended      the directory, until it has ended
    a run begins                              the cluster; without the rights, the directory
    a command is about a run that there is    the place with the latest run

The directory is where runs were kept that had no other place: those of a user who had no right to
create the topic, or of an earlier version. They are found again without `--state`.
"""

from __future__ import annotations

from collections.abc import Callable

from kedge.apply.run_port import RunStore
from kedge.cluster.log_port import FencedLog
from kedge.errors import Unauthorised, UnsupportedByCluster
from kedge.execution import ENDED

# What a cluster that cannot keep runs answers; one that does not answer is no such cluster.
REFUSALS = (Unauthorised, UnsupportedByCluster)


def chosen_place(
    directory: RunStore,
    in_cluster: RunStore,
    log: FencedLog,
    *,
    begins: bool,
    on_note: Callable[[str], None],
) -> RunStore:
    """The place of runs for one command; nothing is created by this."""
    if name := _not_ended(directory):
        on_note(
            f"run {name} in {directory.place} has not ended: runs are kept there until it has "
            "(kedge resume, cancel or rollback)"
        )
        return directory
    try:
        latest = _latest(in_cluster) if log.exists() else ""
    except REFUSALS as refusal:
        on_note(kept_in_directory(directory, refusal))
        return directory
    return in_cluster if begins or latest > _latest(directory) else directory


def kept_in_directory(directory: RunStore, refusal: Exception) -> str:
    """The sentence for a cluster that cannot keep runs."""
    return f"runs are kept in {directory.place}, and other machines do not see them: {refusal}"


def _latest(runs: RunStore) -> str:
    """The id of the latest run; ids sort by the time of the beginning."""
    return max((each.name for each in runs.all()), default="")


def _not_ended(runs: RunStore) -> str | None:
    """The latest run, if it has not ended or has throttles left."""
    found = runs.all()
    if not found:
        return None
    last = found[-1]
    record = runs.record_of(last)
    return last.name if runs.state_of(last) not in ENDED or record.lease else None
