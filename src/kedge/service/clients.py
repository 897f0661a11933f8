"""Answers clients of the controller's node, by settings that may be learned later.

A controller may start before any broker does, and then learn from the first one what the brokers
are set to; from then on requests are answered by those settings.

Requests are checked against the metadata that brokers have accepted. A controller that has just
taken over has sent them nothing yet, and a broker that has just started is not known to all others
at once. So changes of topics wait until all brokers have the current membership: without that they
would be refused for no reason.
"""

from __future__ import annotations

import struct
import time

from kedge.endpoint import (
    BackendDeps,
    ClusterSettings,
    ControllerBackend,
    MetadataCaches,
    QuotaSettings,
)
from kedge.endpoint.dispatch import Answer, Dispatcher
from kedge.endpoint.limits import MutationQuota
from kedge.endpoint.threads import WorkerLoop
from kedge.model import BrokerId
from kedge.protocol import APIS
from kedge.runtime import Loop
from kedge.service.controller_stub import NoLogDirs
from kedge.store.port import GetData, Node, Store
from kedge.store.znodes import CLUSTER_ID, decode_cluster_id

SETTLED_MS = 5_000  # how long a request waits for a controller that is taking over
TOPIC_CHANGES = frozenset({"CreatePartitions", "CreateTopics", "DeleteTopics", "ElectLeaders"})


class Clients:
    """Answers requests that the controller's node does not pass on to a broker."""

    def __init__(self, node: BrokerId, store: Store, caches: MetadataCaches, loop: Loop) -> None:
        self._node = node
        self._caches = caches
        self._loop = loop
        quota = MutationQuota(QuotaSettings(), time.monotonic)
        deps = BackendDeps(store, caches, {node: loop}, NoLogDirs(), _cluster_id(store))
        self.worker = WorkerLoop()
        self.backend = ControllerBackend(deps)
        self._dispatcher = Dispatcher(node, self.backend, quota, worker=self.worker)

    def adopt(self, settings: ClusterSettings) -> None:
        """Answer by these settings from now on."""
        self.backend.settings = settings

    async def answer(self, payload: bytes) -> Answer:
        """The answer to a request."""
        api = APIS.get(struct.unpack_from(">h", payload)[0])
        if api is not None and api.name in TOPIC_CHANGES:
            await self.backend.changes.wait_until(self._is_settled, SETTLED_MS)
        return await self._dispatcher.answer(payload)

    def _is_settled(self) -> bool:
        """Whether brokers have the current topics and members, if this controller is active."""
        view, known = self._loop.view, self._caches.cache(self._node)
        if not view.active or not view.registered:
            return True
        if not known.brokers or (view.topics and not known.topics):
            return False
        # a client that learned of a new broker from a faster one may request replicas on it
        return known.brokers.keys() >= view.live

    def close(self) -> None:
        """End the threads of the worker and the backend."""
        self.worker.close()
        self.backend.close()


def _cluster_id(store: Store) -> str:
    """The cluster's id; empty before its first broker has started."""
    (answer,) = store.batch([GetData(CLUSTER_ID)])
    return decode_cluster_id(answer.data) if isinstance(answer, Node) else ""
