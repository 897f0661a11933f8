"""The parts of one server, made from its settings, started and stopped in order."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import Any

from kedge.database import Database
from kedge.web.access.accounts import Accounts
from kedge.web.access.oidc import OidcClient
from kedge.web.audit import Audit
from kedge.web.clusters.registry import ClusterRegistry
from kedge.web.clusters.timeline import Timeline
from kedge.web.clusters.view import ClusterView
from kedge.web.clusters.watcher import ClusterWatcher, Observed
from kedge.web.events import Broadcaster
from kedge.web.housekeeping import Housekeeping
from kedge.web.idempotency import Answers
from kedge.web.jobs.job_relay import JobRelay
from kedge.web.jobs.job_runner import JobRunner
from kedge.web.jobs.kinds import KINDS
from kedge.web.loop.cluster_loops import ClusterLoops
from kedge.web.loop.event_relay import EventRelay
from kedge.web.loop.loop_rows import loop_row
from kedge.web.plan_reads import PlanReads
from kedge.web.runs_reader import RunsReader
from kedge.web.settings import ServerSettings

log = logging.getLogger("kedge.web")


@dataclass
class Services:
    """Everything that handlers of requests use."""

    settings: ServerSettings
    database: Database
    accounts: Accounts
    audit: Audit
    answers: Answers
    registry: ClusterRegistry
    broadcaster: Broadcaster
    watchers: dict[str, ClusterWatcher]
    jobs: JobRunner
    runs: RunsReader
    plans: PlanReads
    loops: ClusterLoops
    timelines: dict[str, Timeline]
    relay: EventRelay
    job_relay: JobRelay
    housekeeping: Housekeeping
    oidc: OidcClient | None = None
    started_at: float = field(default_factory=time.time)

    def start(self) -> None:
        """Begin to read clusters and to work on jobs."""
        for loads in self.registry.loads.values():
            loads.start()
        for watcher in self.watchers.values():
            watcher.start()
        self.jobs.start()
        self.loops.start()
        self.relay.start()
        self.job_relay.start()
        self.housekeeping.start()

    def stop(self) -> None:
        """Leave all work as it is; what was begun continues at the next start."""
        self.housekeeping.stop()
        self.job_relay.stop()
        self.relay.stop()
        self.loops.stop()
        self.jobs.stop()
        for watcher in self.watchers.values():
            watcher.stop()
        for loads in self.registry.loads.values():
            loads.stop()
        if self.oidc is not None:
            self.oidc.close()
        self.database.close()

    def loop_state(self, cluster: str) -> dict[str, Any]:
        """The state of the loop of a cluster for programs."""
        return _loop_state(self.loops, self.database, cluster)


def services_of(settings: ServerSettings, database: Database) -> Services:
    """The parts of a server, not started yet."""
    limits = settings.limits
    broadcaster = Broadcaster(limits.streams, limits.streams_per_account)
    registry = ClusterRegistry(settings.clusters, read_only=settings.read_only)

    timelines = {name: Timeline() for name in registry.names}
    last: dict[str, ClusterView] = {}

    def publish(name: str, observed: Observed) -> None:
        channel = cluster_channel(name)
        broadcaster.publish(channel, "observed", observed_event(name, observed))
        view, before = observed.view, last.get(name)
        if view is None or view is before:
            return
        last[name] = view
        if before is not None:
            changes = _changed(timelines[name], before, view)
            if changes:
                broadcaster.publish(channel, "changes", {"cluster": name, "changes": changes})

    watchers = {name: ClusterWatcher(name, registry, publish) for name in registry.names}
    jobs = JobRunner(database, broadcaster, registry, KINDS, waiting_max=limits.waiting_jobs)
    audit = Audit(database)
    loops = ClusterLoops(database, registry, audit)
    relay = EventRelay(
        database, broadcaster, registry.names, lambda name: _loop_state(loops, database, name)
    )
    return Services(
        settings,
        database,
        Accounts(database, None if settings.oidc is None else settings.oidc.roles),
        audit,
        Answers(database),
        registry,
        broadcaster,
        watchers,
        jobs,
        RunsReader(registry),
        PlanReads(jobs.documents),
        loops,
        timelines,
        relay,
        JobRelay(jobs.store, broadcaster),
        Housekeeping(database, settings),
        None if settings.oidc is None else OidcClient(settings.oidc, database),
    )


def _changed(timeline: Timeline, before: ClusterView, view: ClusterView) -> list[dict[str, Any]]:
    """Append what has changed between two views to a timeline."""
    was, now = ((each.snapshot, each.controller) for each in (before, view))
    return timeline.add(was, now, time.time())


def _loop_state(loops: ClusterLoops, database: Database, cluster: str) -> dict[str, Any]:
    return loop_row(loops.records[cluster], here=loops.owner, now=database.clock())


def cluster_channel(name: str) -> str:
    """The channel of the events of a cluster, each of which names it."""
    return f"cluster:{name}"


def observed_event(name: str, observed: Observed) -> dict[str, Any]:
    """What was read of a cluster, as an event."""
    return {"cluster": name, **observed_row(observed)}


def observed_row(observed: Observed) -> dict[str, Any]:
    """What is known of a cluster now, in one small document."""
    view = observed.view
    return {
        "version": observed.version,
        "state": state_of(observed),
        "summary": None if view is None else view.summary,
        "problem": observed.problem,
        "failing_since": observed.failing_since,
    }


def state_of(observed: Observed) -> str:
    """The health of a cluster in one word, for its colour."""
    view = observed.view
    if observed.problem is not None:
        return "unreachable"
    if view is None:
        return "unknown"
    figures = view.summary
    if figures["offline"] or figures["brokers_down"]:
        return "critical"
    if figures["under_replicated"]:
        return "degraded"
    return "moving" if figures["moving"] else "healthy"
