"""What handlers share: the context of a request, and parts of responses."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kedge.endpoint.backend import ControllerBackend
from kedge.endpoint.limits import Charge, MutationQuota
from kedge.endpoint.metadata_caches import MetadataCache
from kedge.errors import NotController, StoreUnavailable
from kedge.model import NO_LEADER, BrokerId, TopicPartition
from kedge.model.broker_requests import MetadataEntry
from kedge.model.error_codes import ErrorCode
from kedge.topics import Source, TopicId, decode_id, encode_id

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


# ---- partitions ----------------------------------------------------------------------------------


def flat(topics: Iterable[tuple[str, Iterable[int]]]) -> list[TopicPartition]:
    """Partitions from topics and their numbers."""
    return [TopicPartition(topic, number) for topic, numbers in topics for number in numbers]


@dataclass(frozen=True, slots=True)
class VisiblePartition:
    """The state of a partition in a response."""

    error: ErrorCode
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline: list[int]


def visible(view: ListenerView, entry: MetadataEntry) -> VisiblePartition:
    """A partition as a client sees it: a leader without an address is none, and a replica on such
    a broker is offline."""
    now, reachable = entry.leadership, view.addresses
    has_leader = now.leader in reachable
    return VisiblePartition(
        error=ErrorCode.NONE if has_leader else _leader_error(view, now.leader),
        leader=now.leader if has_leader else NO_LEADER,
        leader_epoch=now.leader_epoch,
        replicas=list(entry.replicas),
        isr=list(now.isr),
        offline=[b for b in entry.replicas if b in entry.offline or b not in reachable],
    )


def _leader_error(view: ListenerView, leader: BrokerId) -> ErrorCode:
    if leader in view.cache.brokers:
        return ErrorCode.LISTENER_NOT_FOUND
    return ErrorCode.LEADER_NOT_AVAILABLE


# ---- errors and configs --------------------------------------------------------------------------

_MESSAGES: Mapping[ErrorCode, str] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "no such partition, or its topic is being deleted",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: (
        "the replicas are empty, named twice, negative, or to be added to a broker that is not live"
    ),
    ErrorCode.INVALID_REPLICATION_FACTOR: "the number of replicas would change",
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: "the partition is not being reassigned",
    ErrorCode.NOT_CONTROLLER: "this broker is not the controller any more",
    ErrorCode.ELECTION_NOT_NEEDED: "the right replica leads already",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "the preferred replica is not alive and in sync",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "no replica is alive",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "the topic is being deleted",
    ErrorCode.REQUEST_TIMED_OUT: "not done in time; it may still be done",
}


def message_for(code: ErrorCode) -> str | None:
    """The text for a code that the controller answered without one; None for success."""
    if code is ErrorCode.NONE:
        return None
    return _MESSAGES.get(code, code.name.lower().replace("_", " "))


SOURCES: Mapping[Source, int] = {  # as DescribeConfigs numbers them
    Source.TOPIC: 1,
    Source.BROKER: 2,
    Source.ALL_BROKERS: 3,
    Source.STATIC: 4,
    Source.BUILT_IN: 5,
}


# ---- long loops ----------------------------------------------------------------------------------

_YIELD_EVERY = 256


async def yield_now(done: int) -> None:
    """Suspend after every so many items, so that work for a closed connection is cancelled."""
    if done % _YIELD_EVERY == 0:
        await asyncio.sleep(0)
