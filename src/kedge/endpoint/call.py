"""What a handler knows of a call besides the request itself."""

from __future__ import annotations

from dataclasses import dataclass

from kedge.endpoint.backend import Backend
from kedge.endpoint.images import Image
from kedge.endpoint.quota import Charge, MutationQuota
from kedge.errors import NotController, StoreUnavailable
from kedge.model import BrokerId

NO_CONTROLLER = -1


@dataclass(frozen=True, slots=True)
class Call:
    """Who was asked, by whom, in which version of the request."""

    node: BrokerId
    client: str | None
    version: int
    backend: Backend
    quota: MutationQuota
    listener: str

    @property
    def image(self) -> Image:
        """The cluster as this node knows it."""
        return self.backend.image(self.node)

    def charge(self, *, strict_since: int) -> Charge:
        """The client's account; older requests are only slowed down, never refused."""
        return self.quota.charge_for(self.client, strict=self.version >= strict_since)

    def refuse_other_nodes(self) -> None:
        """Refuse what only the controller does. A store that cannot be written is the reason that
        is told: controllers give up their role then, and clients would look for another in vain."""
        if fault := self.backend.storage_fault():
            raise StoreUnavailable(fault, hint="make room on the disk; it goes on by itself")
        if not self.backend.is_controller(self.node):
            raise NotController(f"broker {self.node} is not the controller")

    def lens(self) -> Lens:
        """The cluster as this client may see it now."""
        return Lens(self.image, self.listener)


class Lens:
    """One image, seen through one listener. A handler takes one and keeps to it: the image of
    the node may be another a moment later."""

    def __init__(self, image: Image, listener: str) -> None:
        self.image = image
        self.addresses = {
            broker: endpoint
            for broker, known in sorted(image.brokers.items())
            for endpoint in known.endpoints
            if endpoint.listener == listener
        }

    @property
    def controller(self) -> int:
        """The controller's id, if it can be reached, else -1."""
        found = self.image.controller
        return NO_CONTROLLER if found is None or found not in self.addresses else found
