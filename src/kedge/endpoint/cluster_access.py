"""Access to one cluster: its store, its metadata caches and the controllers of this process."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kedge.controller.events import (
    ElectionRequested,
    Event,
    ReassignmentRequested,
    ReassignmentsListed,
)
from kedge.endpoint.cluster_views import ClusterSettings, ClusterViews
from kedge.endpoint.log_dirs import LogDirs
from kedge.endpoint.metadata_caches import MetadataCache, MetadataCaches
from kedge.endpoint.threads import ChangeNotifier, Controller, StoreThread, ask_controller
from kedge.errors import NotController
from kedge.model import BrokerId
from kedge.model.error_codes import ErrorCode
from kedge.store.port import Store

ANSWER_MS = 10_000  # for the controller to take an event from its queue and process it

ControllerRequest = ReassignmentRequested | ReassignmentsListed | ElectionRequested


@dataclass(frozen=True, slots=True)
class Rng:
    """Sources of random numbers below a bound, and of random bytes."""

    draw: Callable[[int], int]
    draw_bytes: Callable[[int], bytes]


def system_rng() -> Rng:
    """Random numbers and bytes of the operating system."""
    return Rng(random.SystemRandom().randrange, secrets.token_bytes)


@dataclass(frozen=True, slots=True)
class BackendDeps:
    """What a backend needs. The controllers are those that run in this process, by the node that
    each one is; at most one of them is active."""

    store: Store
    caches: MetadataCaches
    controllers: Mapping[BrokerId, Controller]
    log_dirs: LogDirs
    cluster_id: str
    storage_fault: Callable[[], str] = str  # why nothing can be stored now; empty if it can


class ClusterAccess:
    """What all requests to a cluster use. To be closed; the store is not."""

    def __init__(
        self,
        deps: BackendDeps,
        *,
        settings: ClusterSettings | None = None,
        rng: Rng | None = None,
    ) -> None:
        self.deps = deps
        self.settings = settings or ClusterSettings()  # may be replaced at any time
        self.rng = rng or system_rng()
        self.store = deps.store
        self.changes = ChangeNotifier()
        self.thread = StoreThread(deps.store)
        self.views = ClusterViews(deps.store, self._current_settings)
        deps.caches.listen(self.changes.notify)

    def close(self) -> None:
        """End the store's thread."""
        self.thread.close()

    def _current_settings(self) -> ClusterSettings:
        return self.settings

    @property
    def cluster_id(self) -> str:
        """The cluster's id."""
        return self.deps.cluster_id

    def cache(self, node: BrokerId) -> MetadataCache:
        """A node's metadata cache as it is now."""
        return self.deps.caches.cache(node)

    def storage_fault(self) -> str:
        """Why nothing can be stored now; empty if it can."""
        return self.deps.storage_fault()

    def is_controller(self, node: BrokerId) -> bool:
        """Whether a node is the active controller."""
        controller = self.deps.controllers.get(node)
        return controller is not None and controller.view.active

    def put_to_controllers(self, event: Event) -> None:
        """Queue an event at all controllers; those that are not active ignore it."""
        for controller in self.deps.controllers.values():
            controller.put(event)

    async def ask(self, node: BrokerId, request: ControllerRequest, timeout_ms: int) -> Any:
        """The answer of the controller on this node. The request's own time bounds only what is
        waited for after that: as in Kafka, a request without time is answered."""
        controller = self.deps.controllers.get(node)
        if controller is None:
            raise NotController(f"broker {node} is not the controller")
        answer = await ask_controller(controller, request, max(timeout_ms, ANSWER_MS))
        if isinstance(answer, ErrorCode):
            raise NotController(f"broker {node} is not the controller any more")
        return answer
