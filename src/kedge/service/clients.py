"""What clients of the controller's node get: the backend, with settings that may yet be learned.

A controller may begin before any broker does, and then learn from the first one what the brokers
are set to. From then on clients are answered by a backend of those settings.

What exists is judged by what brokers were told. A controller that has just taken over has told
them nothing yet, and not all have heard at once of a broker that has just begun; so orders about
topics wait until they have: they would be refused for no reason.
"""

from __future__ import annotations

import struct
import time

from kedge.endpoint import (
    ClusterSettings,
    ControllerBackend,
    Images,
    QuotaSettings,
    Surroundings,
)
from kedge.endpoint.dispatch import Answer, Dispatcher
from kedge.endpoint.pseudo_node import NoLogDirs
from kedge.endpoint.quota import MutationQuota
from kedge.endpoint.worker import WorkerLoop
from kedge.model import BrokerId
from kedge.protocol import APIS
from kedge.runtime import Loop
from kedge.store.port import GetData, Node, Store
from kedge.store.znodes import CLUSTER_ID, decode_cluster_id

TOLD_MS = 5_000  # how long an order waits for a controller that is taking over
ABOUT_TOPICS = frozenset({"CreatePartitions", "CreateTopics", "DeleteTopics", "ElectLeaders"})


class Clients:
    """Answers clients by the settings known now; has the face of a `Dispatcher`."""

    def __init__(self, node: BrokerId, store: Store, images: Images, loop: Loop) -> None:
        self._node = node
        self._store = store
        self._images = images
        self._context = loop.context
        self._quota = MutationQuota(QuotaSettings(), time.monotonic)
        around = Surroundings(store, images, {node: loop}, NoLogDirs(), _cluster_id(store))
        self._around = around
        self.worker = WorkerLoop()
        self._backends: list[ControllerBackend] = []
        self.adopt(ClusterSettings())

    def adopt(self, settings: ClusterSettings) -> None:
        """Answer by these settings from now on."""
        self.backend = ControllerBackend(self._around, settings=settings)
        self._backends.append(self.backend)
        self._own = Dispatcher(self._node, self.backend, self._quota, worker=self.worker)

    async def answer(self, payload: bytes) -> Answer:
        """The answer to a client."""
        api = APIS.get(struct.unpack_from(">h", payload)[0])
        if api is not None and api.name in ABOUT_TOPICS:
            await self.backend.waiting.until(self._is_settled, TOLD_MS)
        return await self._own.answer(payload)

    def _is_settled(self) -> bool:
        """Whether brokers were told what there is, if we are the one to tell them."""
        context, told = self._context, self._images.image(self._node)
        if not context.active or not context.registered:
            return True
        if not told.brokers or (context.topics and not told.topics):
            return False
        # whoever heard of a new broker from one that is faster may ask for replicas on it
        return told.brokers.keys() >= context.live

    def close(self) -> None:
        """End the threads of the worker and the backends."""
        self.worker.close()
        for backend in self._backends:
            backend.close()


def _cluster_id(store: Store) -> str:
    """The cluster's id; none before its first broker has begun."""
    (answer,) = store.batch([GetData(CLUSTER_ID)])
    return decode_cluster_id(answer.data) if isinstance(answer, Node) else ""
