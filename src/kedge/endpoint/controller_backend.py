"""The backend on a metadata store and a running controller: what a ZooKeeper-mode broker does.

Topics and configs are written to the store, where the controller sees them. Moves and elections
are put into the controller's queue. What has come of it is seen in the node's image, when the
controller has told the brokers; until then the client waits, as long as it wants to.

The store is used from one thread of the backend's own, so that no slow store holds up the event
loop. The controller answers on its own thread, and the answer is carried over.
"""

from __future__ import annotations

from kedge.endpoint.base import Surroundings
from kedge.endpoint.config_orders import ConfigOrders
from kedge.endpoint.move_orders import MoveOrders
from kedge.endpoint.topic_orders import TopicOrders

__all__ = ["ControllerBackend", "Surroundings"]


class ControllerBackend(TopicOrders, ConfigOrders, MoveOrders):
    """A cluster behind the endpoint: all that a `Backend` can be asked."""
