"""A controller registers itself, with what it supports, until the log has it (KIP-919).

The active one writes its own record; a standby sends ControllerRegistration to it, and again
after two seconds while the record has not come.
"""

from __future__ import annotations

from kedge.kraft.values import ControllerConfig
from kedge.metadata import Image, metadata_version
from kedge.metadata.brokers import RegisterController
from kedge.metadata.records import FeatureRange

RETRY_MS = 2_000


class SelfRegistration:
    """Whether this life of the process is registered, and when it was last tried."""

    def __init__(self, config: ControllerConfig) -> None:
        self._config = config
        self._sent_ms: int | None = None

    def on_leader(self) -> None:
        """Another leader: it is tried anew at once."""
        self._sent_ms = None

    def is_wanted(self, image: Image, leader: int | None) -> bool:
        """Whether there is a leader to tell, and the log does not have this life yet."""
        known = image.controllers.get(self._config.quorum.node_id)
        level = image.features.get(metadata_version.FEATURE, 0)
        return (
            bool(self._config.incarnation)
            and leader is not None
            and metadata_version.has_controller_registration(level)
            and (known is None or known.incarnation_id != self._config.incarnation)
        )

    def due_ms(self, now_ms: int) -> int:
        """When it is to be tried next, while it is wanted."""
        return max(now_ms + 1, (self._sent_ms or 0) + RETRY_MS)

    def maybe_request(self, now_ms: int) -> RegisterController | None:
        """The request, if it is time to send it."""
        if self._sent_ms is not None and self._sent_ms + RETRY_MS > now_ms:
            return None
        self._sent_ms = now_ms
        config = self._config
        features = tuple(
            FeatureRange(name, low, high)
            for name, (low, high) in sorted(config.settings.features.items())
        )
        return RegisterController(
            config.quorum.node_id, config.incarnation, config.listeners, features
        )
