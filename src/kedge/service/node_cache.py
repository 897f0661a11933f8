"""The metadata cache of the controller's own node: what every connected broker has by now.

Kafka's controller is a broker, and answers clients when its own cache shows the outcome. Here the
slowest connected broker decides: a client that was answered "created" can ask any of them.
"""

from __future__ import annotations

from kedge.brokers.wire import WireBrokers
from kedge.endpoint import MetadataCache, MetadataCaches
from kedge.model import BrokerId


class NodeMetadataCaches(MetadataCaches):
    """The caches of the brokers, and one for the controller's own node."""

    def __init__(self, brokers: WireBrokers, node: BrokerId) -> None:
        super().__init__(brokers)
        self._wire = brokers
        self._node = node
        self._last_seen = MetadataCache()

    def cache(self, broker: BrokerId) -> MetadataCache:
        """A broker's cache; of the controller's node, that of the slowest connected broker."""
        if broker != self._node:
            return super().cache(broker)
        slowest = self._wire.slowest()
        if slowest is not None:
            self._last_seen = super().cache(slowest)
        return self._last_seen
