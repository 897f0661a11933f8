"""The context in which a handler answers a request, and topic ids as requests have them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from kedge.endpoint.backend import ControllerBackend
from kedge.endpoint.limits import Charge, MutationQuota
from kedge.endpoint.metadata_caches import MetadataCache
from kedge.errors import NotController, StoreUnavailable
from kedge.model import BrokerId
from kedge.topics import TopicId, decode_id, encode_id

NO_CONTROLLER = -1


@dataclass(frozen=True, slots=True)
class Call:
    """One request's node, client and version."""

    node: BrokerId
    client: str | None
    version: int
    backend: ControllerBackend
    quota: MutationQuota
    listener: str

    @property
    def cache(self) -> MetadataCache:
        """The node's metadata cache as it is now."""
        return self.backend.cache(self.node)

    def charge(self, *, strict_since: int) -> Charge:
        """The client's quota; requests of older versions are delayed, never refused."""
        return self.quota.charge_for(self.client, strict=self.version >= strict_since)

    def require_controller(self) -> None:
        """Refuse what only the controller does. A store that cannot be written is reported first:
        controllers resign then, and clients would look for another one in vain."""
        if fault := self.backend.storage_fault():
            raise StoreUnavailable(fault, hint="free space on the disk; work resumes by itself")
        if not self.backend.is_controller(self.node):
            raise NotController(f"broker {self.node} is not the controller")

    def listener_view(self) -> ListenerView:
        """The cluster as this client sees it now."""
        return ListenerView(self.cache, self.listener)


class ListenerView:
    """One metadata cache, with the addresses of one listener. A handler makes one and uses it to
    the end: the node may have a newer cache a moment later."""

    def __init__(self, cache: MetadataCache, listener: str) -> None:
        self.cache = cache
        self.addresses = {
            broker: endpoint
            for broker, known in sorted(cache.brokers.items())
            for endpoint in known.endpoints
            if endpoint.listener == listener
        }

    @property
    def controller(self) -> int:
        """The controller's id if it has this listener, else -1."""
        found = self.cache.controller
        return NO_CONTROLLER if found is None or found not in self.addresses else found


# ---- topic ids -----------------------------------------------------------------------------------

NO_ID = uuid.UUID(int=0)


def wire_id(topic_id: str | None) -> uuid.UUID:
    """A topic id as a UUID; zero where there is none."""
    return NO_ID if topic_id is None else uuid.UUID(bytes=decode_id(topic_id))


def text_id(sent: uuid.UUID | None) -> TopicId | None:
    """A UUID as the 22 letters of a topic id; None where there is none."""
    return None if sent is None or sent == NO_ID else encode_id(sent.bytes)
