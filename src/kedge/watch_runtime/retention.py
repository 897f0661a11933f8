"""Removes proposals that ended long ago, and what is kept of their runs."""

from __future__ import annotations

from sqlalchemy import delete, select

from kedge.database import Database
from kedge.watch.proposals import MAY_FOLLOW, ProposalState
from kedge.watch_runtime.tables import PROPOSALS, RUNS

ENDED = tuple(state.value for state in ProposalState if not MAY_FOLLOW.get(state))


def forget_proposals(database: Database, cluster: str, before: float) -> None:
    """Delete the proposals of a cluster that have been ended since before this time."""
    ended = PROPOSALS.c.state.in_(ENDED) & (PROPOSALS.c.changed_at < before)
    here = (PROPOSALS.c.cluster == cluster) & ended
    with database.writes() as connection:
        theirs = RUNS.c.proposal.in_(select(PROPOSALS.c.id).where(here))
        connection.execute(delete(RUNS).where((RUNS.c.cluster == cluster) & theirs))
        connection.execute(delete(PROPOSALS).where(here))
