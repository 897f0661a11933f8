"""A loop per cluster: it samples, proposes and runs while this server leads it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Event, Thread
from typing import TYPE_CHECKING

from kedge.apply.this_process import has_ended, owner_text, this_process
from kedge.database import Database
from kedge.watch.policy_toml import parse_policy, policy_text
from kedge.watch_runtime import LoopRunner, WatchedCluster, WatchRecords, WatchStore
from kedge.watch_runtime.webhooks import WebhookSender
from kedge.web.audit import Audit
from kedge.web.clusters.registry import ClusterRegistry
from kedge.web.own_changes import auditing_runs, policy_entry

if TYPE_CHECKING:
    from kedge.apply import RunStore
    from kedge.cluster.port import Cluster

DELIVER_EVERY_S = 2.0
SENDERS_S = 10.0  # a request to a webhook that takes longer is left; its event is sent again
log = logging.getLogger("kedge.web")


class ClusterLoops:
    """The loops of all clusters of a server, and what they have stored."""

    def __init__(self, database: Database, registry: ClusterRegistry, audit: Audit) -> None:
        self._registry, self._audit = registry, audit
        self.owner = owner_text(this_process())
        self.records = {name: WatchRecords(database, name) for name in registry.names}
        led = [] if registry.read_only else registry.names
        self._stores = {
            name: WatchStore(database, name, self.owner, has_ended, auditing_runs(audit, name))
            for name in led
        }
        self._runners = {name: self._runner(name, store) for name, store in self._stores.items()}
        self._stopping = Event()
        self._senders: list[Thread] = []

    def _runner(self, name: str, store: WatchStore) -> LoopRunner:
        registry = self._registry

        def open_cluster() -> AbstractContextManager[Cluster]:
            return registry.connect(name)

        def open_runs(cluster: Cluster) -> AbstractContextManager[RunStore]:
            return registry.runs_of(cluster, name, _noting(name))

        watched = WatchedCluster(name, open_cluster, open_runs, registry.loads[name].on)
        return LoopRunner(watched, store, on_note=_noting(name))

    # ---- life -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Store the policies of the settings and start the loops; those of others are left."""
        for name, store in self._stores.items():
            self._store_policy(name, store)
            self._runners[name].start()
            sender = Thread(
                target=self._deliver, args=(name, store), name=f"webhooks {name}", daemon=True
            )
            self._senders.append(sender)
            sender.start()

    def stop(self) -> None:
        """Give the leads up; runs are left as they are, for the server that leads next."""
        self._stopping.set()
        stopping = [
            Thread(target=runner.stop, kwargs={"at_once": True}, name="stop")
            for runner in self._runners.values()
        ]
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join()
        until = time.monotonic() + SENDERS_S
        for thread in self._senders:
            thread.join(max(0.0, until - time.monotonic()))

    def _store_policy(self, name: str, store: WatchStore) -> None:
        """The settings of the server that started last hold for all servers of the database."""
        before, wanted = store.policy(), self._registry.of(name).policy
        after = parse_policy(policy_text(wanted, secrets=True))  # as it is read again
        if before != after:
            store.set_policy(wanted)
            self._audit.write(policy_entry(name, before, after))
            log.info("the policy of %s is now:\n%s", name, policy_text(wanted))

    def _deliver(self, name: str, store: WatchStore) -> None:
        """Send events to webhooks while this server leads."""
        sender = WebhookSender(
            store, sleep=self._pause, stopping=self._stopping.is_set, on_note=_noting(name)
        )
        while not self._stopping.wait(DELIVER_EVERY_S):
            if store.epoch is None:
                continue
            try:
                sender.deliver(time.time())
            except Exception:
                log.exception("sending the events of %s failed; it is tried again", name)

    def _pause(self, seconds: float) -> None:
        self._stopping.wait(seconds)

    # ---- what requests need ---------------------------------------------------------------------

    def leads(self, cluster: str) -> bool:
        """Whether this server leads the loop of a cluster."""
        lead = self.records[cluster].lead()
        return lead is not None and lead.owner == self.owner and lead.until > time.time()

    def store_of(self, cluster: str) -> WatchStore:
        """The store for a decision of a person, which needs no lead."""
        return self._stores[cluster]


def _noting(name: str) -> Callable[[str], None]:
    return lambda text: log.info("%s: %s", name, text)
