"""What the controller's node believes: what every broker that is connected knows by now.

Kafka's controller is a broker, and answers clients when its own cache shows what they asked for.
Here it is the slowest connected broker that decides: whoever hears "created" can ask any of them.
"""

from __future__ import annotations

from kedge.brokers.wire import WireBrokers
from kedge.endpoint import Image, Images
from kedge.model import BrokerId


class NodeImages(Images):
    """The images of the brokers, and one for the controller's own node."""

    def __init__(self, brokers: WireBrokers, node: BrokerId) -> None:
        super().__init__(brokers)
        self._wire = brokers
        self._node = node
        self._seen = Image()

    def image(self, broker: BrokerId) -> Image:
        """What a broker believes now; of the controller's node, what all connected ones do."""
        if broker != self._node:
            return super().image(broker)
        slowest = self._wire.slowest()
        if slowest is not None:
            self._seen = super().image(slowest)
        return self._seen
