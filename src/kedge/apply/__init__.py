"""Carrying plans out on a live cluster: any cluster that the port reaches, real or lab.

`execution` decides; here is what looks, acts and remembers.

    looking   the cluster in the words of `execution`; throttles set and removed
    runs      plans and journals on disk, and the lock that keeps two runs apart
    running   the loop: look, judge, start what may start, tell, wait, clean up
    ending    cancel, roll back, and tidy up after a run that died

Rules.

- Nothing is changed before the plan was judged against the cluster as it is now.
- Whatever will have to be undone is on disk before it is done.
- A second process finds all that it needs in the journal and the cluster: `kedge resume`,
  `kedge cancel` and `kedge rollback` work after kill -9 as they do after a clean stop.

Worked example:

    runs = Runs(state, cluster.describe().cluster_id)
    with runs.held():
        changes, standings, seen = preview(cluster, plan)     # judged, nothing changed
        files = runs.begin(plan, cluster_id, rate=50_000_000, each_way=2)
        outcome = Run(cluster, files, Pacing()).carry_out(changes)
"""

from kedge.apply.ending import give_up, tidy, tidy_all, way_back
from kedge.apply.running import Outcome, Pacing, Run, preview
from kedge.apply.runs import RunFiles, Runs, default_state

__all__ = [
    "Outcome",
    "Pacing",
    "Run",
    "RunFiles",
    "Runs",
    "default_state",
    "give_up",
    "preview",
    "tidy",
    "tidy_all",
    "way_back",
]
