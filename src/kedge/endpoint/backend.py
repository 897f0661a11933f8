"""The cluster behind the endpoint: a metadata store and a running controller.

It does what a ZooKeeper-mode broker does. Topics and configs are written to the store, where the
controller sees them. Moves and elections are put into the controller's queue. The outcome is read
from the node's metadata cache, once the controller has sent it to the brokers; until then a request
waits, for at most its own timeout.

The store is used from one thread of the backend's own, so that a slow store does not block the
event loop. The controller answers on its own thread, and the answer is passed to the event loop.

In a batch a refusal stands beside the successes, as a KedgeError. What fails as a whole (the store
is unavailable, this node is not the controller) is raised.
"""

from __future__ import annotations

from kedge.endpoint.cluster_access import BackendDeps, ClusterAccess, ClusterSettings, Rng
from kedge.endpoint.config_requests import ConfigRequests
from kedge.endpoint.move_requests import MoveRequests
from kedge.endpoint.topic_requests import TopicRequests


class ControllerBackend(ClusterAccess):
    """A cluster that answers requests about topics, configs and moves."""

    def __init__(
        self,
        deps: BackendDeps,
        *,
        settings: ClusterSettings | None = None,
        rng: Rng | None = None,
    ) -> None:
        super().__init__(deps, settings=settings, rng=rng)
        self.topics = TopicRequests(self)
        self.configs = ConfigRequests(self)
        self.moves = MoveRequests(self)
