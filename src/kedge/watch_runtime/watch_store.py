"""What the loop of one cluster keeps, in SQLite or PostgreSQL; every write of the loop is fenced.

A person's decision on a proposal is a write as well, by any server: it is not fenced, and replaces
the proposal only in the version that the person has seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import IntegrityError

from kedge.database import Database
from kedge.errors import WriterFenced
from kedge.watch.findings import Finding
from kedge.watch.messages import Event, finding_events, proposal_event
from kedge.watch.policy import DAY_S, Policy
from kedge.watch.policy_toml import policy_text
from kedge.watch.proposals import Proposal, ProposalState
from kedge.watch.samples import Sample
from kedge.watch.storage import (
    finding_to_json,
    proposal_to_json,
    sample_from_json,
    sample_to_json,
)
from kedge.watch_runtime.tables import EVENTS, FINDINGS, LEAD, POLICIES, PROPOSALS, RUNS, SAMPLES
from kedge.watch_runtime.watch_records import (
    WatchRecords,
    event_data,
    event_from,
    findings_in,
    thinned,
)

SAMPLES_KEPT_S = 30 * DAY_S
DENSE_S = 2 * DAY_S  # older samples are thinned out
SPARSE_EVERY_S = 600.0
TREND_POINTS = 200
EVENTS_KEPT_S = 30 * DAY_S
OnChange = Callable[[Connection, ProposalState, Proposal], None]
"""Takes part in the transaction in which the loop changes a proposal: its state before, and it."""


class WatchStore(WatchRecords):
    """The tables of one cluster, for one server; `is_dead` says whether an owner surely ended."""

    def __init__(
        self,
        database: Database,
        cluster: str,
        owner: str,
        is_dead: Callable[[str], bool] = lambda owner: False,
        on_change: OnChange = lambda connection, before, proposal: None,
    ) -> None:
        super().__init__(database, cluster)
        self.owner, self._is_dead, self._on_change = owner, is_dead, on_change
        self.epoch: int | None = None
        self._held_until = 0.0  # by this process's own clock

    # ---- the lead of the loop -------------------------------------------------------------------

    def acquire(self, now: float, ttl_s: float, *, renews_only: bool = False) -> bool:
        """Take or renew the lead; False while another server has it.

        With `renews_only` a lease that has run out is not taken again: what is under way was
        decided by a sample from before, and is fenced.
        """
        held_until = time.monotonic() + ttl_s
        with self.database.writes() as connection:
            row = self._lead(connection)
            # A lease that has run out was perhaps given to another server meanwhile: a new epoch.
            renews = row is not None and row.owner == self.owner and now < row.until
            taken = row is not None and not self._may_take(row, now)
            if taken or (renews_only and not renews):
                self.epoch = None
                return False
            epoch = (0 if row is None else row.epoch) + (0 if renews else 1)
            values = {"owner": self.owner, "epoch": epoch, "until": now + ttl_s}
            if row is None:
                try:
                    connection.execute(insert(LEAD).values(cluster=self.cluster, **values))
                except IntegrityError:  # another server was first
                    return False
            else:
                connection.execute(
                    update(LEAD).where(LEAD.c.cluster == self.cluster).values(values)
                )
            self.epoch, self._held_until = epoch, held_until
            return True

    def _may_take(self, row: Any, now: float) -> bool:
        return row.owner == self.owner or now >= row.until or self._is_dead(row.owner)

    def release(self) -> None:
        """Give the lead up, so that another server has it at once."""
        mine = (LEAD.c.cluster == self.cluster) & (LEAD.c.owner == self.owner)
        with self.database.writes() as connection:
            connection.execute(update(LEAD).where(mine).values(until=0.0))
        self.epoch = None

    def _lead(self, connection: Connection) -> Any:
        wanted = select(LEAD).where(LEAD.c.cluster == self.cluster).with_for_update()
        return connection.execute(wanted).one_or_none()

    def _fence(self, connection: Connection) -> None:
        row = self._lead(connection)
        if row is None or (row.owner, row.epoch) != (self.owner, self.epoch):
            raise WriterFenced(f"Another server leads the loop of {self.cluster}")
        if time.monotonic() >= self._held_until:
            raise WriterFenced(f"The lead of the loop of {self.cluster} has run out")

    # ---- policy and history ---------------------------------------------------------------------

    def set_policy(self, policy: Policy) -> None:
        """Replace the policy; of servers that do so at once the last one's holds."""
        row = {"cluster": self.cluster, "text": policy_text(policy, secrets=True)}
        with self.database.writes() as connection:
            postgresql = connection.dialect.name == "postgresql"
            added = (postgresql_insert if postgresql else sqlite_insert)(POLICIES).values(row)
            connection.execute(added.on_conflict_do_update(index_elements=["cluster"], set_=row))

    def record_sample(self, sample: Sample, memory_s: float, recent_s: float) -> list[Sample]:
        """Append a sample; returns the history of the time that is needed.

        All of it since `recent_s`, and before that `TREND_POINTS`, evenly spread.
        """
        here, at = SAMPLES.c.cluster == self.cluster, SAMPLES.c.at
        with self.database.writes() as connection:
            self._fence(connection)
            connection.execute(delete(SAMPLES).where(here & (at == sample.at)))
            row = {"cluster": self.cluster, "at": sample.at, "data": sample_to_json(sample)}
            connection.execute(insert(SAMPLES).values(row))
            self._thin_out(connection, sample.at, max(SAMPLES_KEPT_S, memory_s))
            begins = sample.at - recent_s
            before = here & (at >= sample.at - memory_s) & (at < begins)
            wanted = (at >= begins) & (at <= sample.at)
            if times := thinned(connection, before, TREND_POINTS):
                wanted |= at.in_(times)
            found = connection.execute(select(SAMPLES.c.data).where(here & wanted).order_by(at))
            return [sample_from_json(data) for data in found.scalars()]

    def _thin_out(self, connection: Connection, now: float, kept_s: float) -> None:
        """Of samples older than two days one of ten minutes is kept, and none beyond `kept_s`."""
        here, at = SAMPLES.c.cluster == self.cluster, SAMPLES.c.at
        connection.execute(delete(SAMPLES).where(here & (at < now - kept_s)))
        begins = (now - DENSE_S) // SPARSE_EVERY_S * SPARSE_EVERY_S
        during = here & (at >= begins - SPARSE_EVERY_S) & (at < begins)
        first = connection.execute(select(func.min(at)).where(during)).scalar_one_or_none()
        if first is not None:
            connection.execute(delete(SAMPLES).where(during & (at > first)))

    # ---- proposals ------------------------------------------------------------------------------

    def replace(self, proposal: Proposal, *, fenced: bool = True) -> bool:
        """Store a proposal and its event, if the version before it is stored; else False."""
        with self.database.writes() as connection:
            if fenced:
                self._fence(connection)
            before = self._state_of(connection, proposal.id, proposal.version - 1)
            stored = self._added if proposal.version == 1 else self._replaced
            if not stored(connection, proposal):
                return False
            if fenced and before is not None:
                self._on_change(connection, before, proposal)
            self._add_events(connection, [proposal_event(self.cluster, proposal)])
            return True

    def _state_of(self, connection: Connection, id_: str, version: int) -> ProposalState | None:
        here = self._at(id_) & (PROPOSALS.c.version == version)
        found = connection.execute(select(PROPOSALS.c.state).where(here)).scalar_one_or_none()
        return None if found is None else ProposalState(found)

    def _added(self, connection: Connection, proposal: Proposal) -> bool:
        known = select(PROPOSALS.c.id).where(self._at(proposal.id))
        if connection.execute(known).one_or_none() is not None:
            return False
        row = {"cluster": self.cluster, "id": proposal.id, **_values(proposal)}
        connection.execute(insert(PROPOSALS).values(row))
        return True

    def _replaced(self, connection: Connection, proposal: Proposal) -> bool:
        before = self._at(proposal.id) & (PROPOSALS.c.version == proposal.version - 1)
        changed = update(PROPOSALS).where(before).values(_values(proposal))
        return bool(connection.execute(changed).rowcount)

    def _at(self, proposal_id: str) -> ColumnElement[bool]:
        return (PROPOSALS.c.cluster == self.cluster) & (PROPOSALS.c.id == proposal_id)

    # ---- findings -------------------------------------------------------------------------------

    def store_findings(
        self, at: float, findings: Sequence[Finding], waiting: Sequence[tuple[str, str]]
    ) -> None:
        """Replace the findings, and what proposals wait for; changes are events."""
        data = orjson.dumps([finding_to_json(each) for each in findings])
        with self.database.writes() as connection:
            self._fence(connection)
            _, before = findings_in(connection, self.cluster)
            connection.execute(delete(FINDINGS).where(FINDINGS.c.cluster == self.cluster))
            connection.execute(insert(FINDINGS).values(cluster=self.cluster, at=at, data=data))
            for proposal, why in waiting:
                here = (PROPOSALS.c.cluster == self.cluster) & (PROPOSALS.c.id == proposal)
                connection.execute(update(PROPOSALS).where(here).values(waits_for=why))
            self._add_events(connection, finding_events(self.cluster, at, before, findings))

    # ---- runs -----------------------------------------------------------------------------------

    def begin_run(self, proposal: Proposal, now: float) -> bool:
        """Mark the run of a proposal as begun, if it is stored as running in this version."""
        here = (PROPOSALS.c.cluster == self.cluster) & (PROPOSALS.c.id == proposal.id)
        running = here & (PROPOSALS.c.state == ProposalState.RUNNING.value)
        with self.database.writes() as connection:
            self._fence(connection)
            wanted = select(PROPOSALS.c.version).where(running)
            if connection.execute(wanted).scalar_one_or_none() != proposal.version:
                return False
            if self._begun(connection, proposal.id) is None:
                row = {"cluster": self.cluster, "proposal": proposal.id, "begun_at": now}
                connection.execute(insert(RUNS).values(row))
            return True

    def take_back_run(self, proposal_id: str) -> None:
        """Remove the marker of a run that did not begin."""
        here = (RUNS.c.cluster == self.cluster) & (RUNS.c.proposal == proposal_id)
        with self.database.writes() as connection:
            self._fence(connection)
            connection.execute(delete(RUNS).where(here))

    def begun_run(self, proposal_id: str) -> tuple[bool, str | None]:
        """Whether the run of a proposal has begun, and the outcome of an election."""
        with self.database.reads() as connection:
            row = self._begun(connection, proposal_id)
        return (False, None) if row is None else (True, row.outcome)

    def _begun(self, connection: Connection, proposal_id: str) -> Any:
        here = (RUNS.c.cluster == self.cluster) & (RUNS.c.proposal == proposal_id)
        return connection.execute(select(RUNS).where(here)).one_or_none()

    def end_election(self, proposal_id: str, outcome: str) -> None:
        """Keep how an election ended; empty where it went well."""
        here = (RUNS.c.cluster == self.cluster) & (RUNS.c.proposal == proposal_id)
        with self.database.writes() as connection:
            connection.execute(update(RUNS).where(here).values(outcome=outcome))

    # ---- events ---------------------------------------------------------------------------------

    def _add_events(self, connection: Connection, events: Sequence[Event]) -> None:
        for each in events:
            row = {"cluster": self.cluster, "at": each.at, "data": event_data(each)}
            connection.execute(insert(EVENTS).values(row))

    def events_to_deliver(self, limit: int = 100) -> list[tuple[int, Event]]:
        """Events that no webhook has had yet, oldest first."""
        here = (EVENTS.c.cluster == self.cluster) & EVENTS.c.delivered_at.is_(None)
        wanted = select(EVENTS.c.id, EVENTS.c.data).where(here).order_by(EVENTS.c.id).limit(limit)
        with self.database.reads() as connection:
            return [(row.id, event_from(row.data)) for row in connection.execute(wanted)]

    def delivered(self, event_id: int, now: float) -> None:
        """An event was delivered, or given up; old ones are removed."""
        with self.database.writes() as connection:
            here = EVENTS.c.id == event_id
            connection.execute(update(EVENTS).where(here).values(delivered_at=now))
            connection.execute(delete(EVENTS).where(EVENTS.c.delivered_at < now - EVENTS_KEPT_S))


def _values(proposal: Proposal) -> dict[str, Any]:
    return {
        "version": proposal.version,
        "state": proposal.state.value,
        "changed_at": proposal.changed_at,
        "waits_for": "",
        "data": proposal_to_json(proposal),
    }
