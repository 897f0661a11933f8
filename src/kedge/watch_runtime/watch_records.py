"""Reads what the loop of one cluster keeps; needs no lead, so that every server can."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

import orjson
from sqlalchemy import ColumnElement, Connection, Select, func, or_, select

from kedge.database import Database
from kedge.errors import UnknownResource
from kedge.watch.findings import Finding
from kedge.watch.messages import Event, EventKind
from kedge.watch.policy import Policy
from kedge.watch.policy_toml import parse_policy
from kedge.watch.proposals import ENDED, Proposal, ProposalState
from kedge.watch.samples import Sample
from kedge.watch.storage import finding_from_json, proposal_from_json, sample_from_json
from kedge.watch_runtime.tables import EVENTS, FINDINGS, LEAD, POLICIES, PROPOSALS, SAMPLES


class Lead(NamedTuple):
    """The server that leads the loop of a cluster, and until when unless it renews its lease."""

    owner: str
    epoch: int
    until: float


class WatchRecords:
    """The tables of one cluster, to be read."""

    def __init__(self, database: Database, cluster: str) -> None:
        self.database, self.cluster = database, cluster

    def lead(self) -> Lead | None:
        """The lease of the lead, which may have run out; None if there never was one."""
        wanted = select(LEAD.c.owner, LEAD.c.epoch, LEAD.c.until)
        with self.database.reads() as connection:
            row = connection.execute(wanted.where(LEAD.c.cluster == self.cluster)).one_or_none()
        return None if row is None else Lead(*row)

    def policy(self) -> Policy:
        """The policy of the cluster; the default one where none was set."""
        wanted = select(POLICIES.c.text).where(POLICIES.c.cluster == self.cluster)
        with self.database.reads() as connection:
            text = connection.execute(wanted).scalar_one_or_none()
        return Policy() if text is None else parse_policy(text)

    # ---- samples --------------------------------------------------------------------------------

    def samples(self, since: float, until: float, points_max: int | None = None) -> list[Sample]:
        """The samples of a time, oldest first; evenly thinned out to `points_max` where given."""
        during = (SAMPLES.c.at >= since) & (SAMPLES.c.at <= until)
        here = (SAMPLES.c.cluster == self.cluster) & during
        with self.database.reads() as connection:
            if points_max is not None:
                here &= SAMPLES.c.at.in_(thinned(connection, here, points_max))
            wanted = select(SAMPLES.c.data).where(here).order_by(SAMPLES.c.at)
            return [sample_from_json(data) for data in connection.execute(wanted).scalars()]

    def last_sample_at(self) -> float | None:
        """When the cluster was last sampled."""
        wanted = select(func.max(SAMPLES.c.at)).where(SAMPLES.c.cluster == self.cluster)
        with self.database.reads() as connection:
            return connection.execute(wanted).scalar_one_or_none()

    # ---- proposals ------------------------------------------------------------------------------

    def proposals(self, since: float | None = None) -> list[Proposal]:
        """Proposals that are not ended, and those that ended since; None: all of them."""
        wanted = self._proposals()
        if since is not None:
            active = PROPOSALS.c.state.not_in([state.value for state in ENDED])
            wanted = wanted.where(or_(active, PROPOSALS.c.changed_at >= since))
        with self.database.reads() as connection:
            return _proposals(connection, wanted.order_by(PROPOSALS.c.id))

    def latest_proposals(
        self, limit: int, states: Iterable[ProposalState] = tuple(ProposalState)
    ) -> list[Proposal]:
        """The proposals that changed last, newest first."""
        named = PROPOSALS.c.state.in_([state.value for state in states])
        newest = PROPOSALS.c.changed_at.desc(), PROPOSALS.c.id.desc()
        wanted = self._proposals().where(named).order_by(*newest).limit(limit)
        with self.database.reads() as connection:
            return _proposals(connection, wanted)

    def proposal(self, proposal_id: str) -> Proposal:
        """One proposal.

        Raises:
            UnknownResource: there is none with this id.
        """
        with self.database.reads() as connection:
            found = _proposals(connection, self._proposals().where(PROPOSALS.c.id == proposal_id))
        if not found:
            raise UnknownResource(f"No proposal {proposal_id}")
        return found[0]

    def _proposals(self) -> Select[bytes, str]:
        wanted = select(PROPOSALS.c.data, PROPOSALS.c.waits_for)
        return wanted.where(PROPOSALS.c.cluster == self.cluster)

    # ---- findings -------------------------------------------------------------------------------

    def findings(self) -> tuple[Finding, ...]:
        """The findings of the last sample."""
        return self.findings_at()[1]

    def findings_at(self) -> tuple[float | None, tuple[Finding, ...]]:
        """When the findings were stored last, and they."""
        with self.database.reads() as connection:
            return findings_in(connection, self.cluster)


def events_after(database: Database, event_id: int, limit: int = 500) -> list[tuple[int, Event]]:
    """Events of all clusters that were stored after one, oldest first."""
    wanted = select(EVENTS.c.id, EVENTS.c.data).where(EVENTS.c.id > event_id)
    with database.reads() as connection:
        found = connection.execute(wanted.order_by(EVENTS.c.id).limit(limit))
        return [(row.id, event_from(row.data)) for row in found]


def last_event(database: Database) -> int:
    """The newest event of all clusters; 0 if there is none."""
    with database.reads() as connection:
        return connection.execute(select(func.max(EVENTS.c.id))).scalar_one_or_none() or 0


def observed_at(database: Database) -> dict[str, float]:
    """When the loop of each cluster has last looked at it."""
    with database.reads() as connection:
        found = connection.execute(select(FINDINGS.c.cluster, FINDINGS.c.at))
        return {row.cluster: row.at for row in found}


def findings_in(connection: Connection, cluster: str) -> tuple[float | None, tuple[Finding, ...]]:
    """The findings of a cluster in a transaction, and when they were stored."""
    wanted = select(FINDINGS.c.at, FINDINGS.c.data).where(FINDINGS.c.cluster == cluster)
    row = connection.execute(wanted).one_or_none()
    return (
        (None, ())
        if row is None
        else (row.at, tuple(map(finding_from_json, orjson.loads(row.data))))
    )


def event_data(each: Event) -> bytes:
    """An event as the database keeps it."""
    return orjson.dumps(dataclasses.asdict(each))


def event_from(data: bytes) -> Event:
    """The event that `event_data` wrote."""
    values = orjson.loads(data)
    values["kind"], values["lines"] = EventKind(values["kind"]), tuple(values["lines"])
    return Event(**values)


def _proposals(connection: Connection, wanted: Select[bytes, str]) -> list[Proposal]:
    return [
        dataclasses.replace(proposal_from_json(data), waits_for=waits)
        for data, waits in connection.execute(wanted)
    ]


def thinned(connection: Connection, here: ColumnElement[bool], points_max: int) -> list[float]:
    """The times of so many samples at most, evenly spread; the newest is one of them."""
    wanted = select(SAMPLES.c.at).where(here).order_by(SAMPLES.c.at.desc())
    times = list(connection.execute(wanted).scalars())
    return times[:: max(-(-len(times) // points_max), 1)]
