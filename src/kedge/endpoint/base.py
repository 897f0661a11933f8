"""What all parts of the backend stand on: the store's thread, the images, the controllers."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kedge.controller.events import ElectionRequested, ReassignmentRequested, ReassignmentsListed
from kedge.endpoint.asking import Controller, StoreThread, ask
from kedge.endpoint.backend import LogDirs
from kedge.endpoint.images import Image, Images
from kedge.endpoint.settings import ClusterSettings
from kedge.endpoint.stored_configs import StoredConfigs
from kedge.endpoint.stored_topics import Luck, StoredTopics
from kedge.endpoint.views import Views
from kedge.endpoint.waiting import Waiting
from kedge.errors import NotController
from kedge.model import BrokerId
from kedge.model.error_codes import ErrorCode
from kedge.store.port import Store

ANSWER_MS = 10_000  # for the controller to take an event from its queue and process it
TOGETHER = 500  # items of a large request that are worked off in one go on the store's thread

T = TypeVar("T")

Question = ReassignmentRequested | ReassignmentsListed | ElectionRequested


def batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in order, so many at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


def system_luck() -> Luck:
    """Chance as the machine has it."""
    return Luck(random.SystemRandom().randrange, secrets.token_bytes)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a backend stands on. The controllers are those that run here, by the node that each
    speaks as; at most one of them holds the role."""

    store: Store
    images: Images
    controllers: Mapping[BrokerId, Controller]
    log_dirs: LogDirs
    cluster_id: str
    storage_fault: Callable[[], str] = str  # why nothing can be stored now, if so


class Base:
    """A backend that can look, but knows no orders yet. To be closed; the store is not."""

    def __init__(
        self,
        around: Surroundings,
        *,
        settings: ClusterSettings | None = None,
        luck: Luck | None = None,
    ) -> None:
        self.around = around
        self.settings = settings or ClusterSettings()
        self.views = Views(around.store, self._settings_now)
        self.topics = StoredTopics(
            around.store, self.views, self._settings_now, luck or system_luck()
        )
        self.configs = StoredConfigs(around.store, self.views, self._settings_now)
        self.thread = StoreThread(around.store)
        self.waiting = Waiting()
        around.images.listen(self.waiting.wake)

    def _settings_now(self) -> ClusterSettings:
        return self.settings

    def close(self) -> None:
        """End the backend's thread."""
        self.thread.close()

    @property
    def cluster_id(self) -> str:
        """The cluster's own id."""
        return self.around.cluster_id

    def image(self, node: BrokerId) -> Image:
        """What a node believes of the cluster."""
        return self.around.images.image(node)

    def storage_fault(self) -> str:
        """Why nothing can be stored now; empty while all is well."""
        return self.around.storage_fault()

    def is_controller(self, node: BrokerId) -> bool:
        """Whether a node is the controller now."""
        controller = self.around.controllers.get(node)
        return controller is not None and controller.view.active

    async def ask(self, node: BrokerId, question: Question, timeout_ms: int) -> Any:
        """The answer of the controller that speaks as this node. The request's own time bounds
        only what is waited for after that: as in Kafka, a request without time is answered."""
        controller = self.around.controllers.get(node)
        if controller is None:
            raise NotController(f"broker {node} is not the controller")
        answer = await ask(controller, question, max(timeout_ms, ANSWER_MS))
        if isinstance(answer, ErrorCode):
            raise NotController(f"broker {node} is not the controller any more")
        return answer
