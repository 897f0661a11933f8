"""The port to the metadata store: ZooKeeper's data model, as values.

The store is a tree of versioned nodes. A caller passes a batch of requests, which an adapter sends
in one pipelined round trip, and gets one answer per request, in sequence. A conflict (`Conflict`:
wrong version, node exists, node missing) is an answer like any other; only the loss of the
connection or of the session is raised, and then the outcome of every request of the batch is
unknown.

Watches are one-shot, as in ZooKeeper. A read with `watch=True` sets one, and the first change after
it is reported to the listener once. A watch means "read again"; it does not carry the new value.

    answers = store.batch([
        GetData("/controller", watch=True),
        Multi((Check("/controller_epoch", 7), SetData("/brokers/topics/t", b"{}", version=3))),
    ])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from kedge.errors import Conflict

ANY_VERSION = -1


@dataclass(frozen=True, slots=True)
class Stat:
    """The metadata of a node.

    `created` is the number of the transaction that created the node (ZooKeeper's czxid). The number
    only grows, so a node that was deleted and created again has a larger one.
    """

    version: int
    created: int
    modified: int
    children: int
    ephemeral: bool


# ---- writes, which a Multi may contain -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Create:
    """Create a node; its parent must exist. A sequential node gets ten digits appended."""

    path: str
    data: bytes | None = None
    ephemeral: bool = False
    sequential: bool = False


@dataclass(frozen=True, slots=True)
class SetData:
    """Replace a node's data if it has the expected version."""

    path: str
    data: bytes | None
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a node without children if it has the expected version."""

    path: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Check:
    """Require that a node exists with this version; change nothing."""

    path: str
    version: int = ANY_VERSION


Write = Create | SetData | Delete | Check


@dataclass(frozen=True, slots=True)
class Multi:
    """Writes that are applied together or not at all."""

    writes: tuple[Write, ...]


# ---- reads -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GetData:
    """Read a node's data; the watch fires when the data changes or the node is deleted."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class GetChildren:
    """List a node's children, sorted; the watch fires when one is added or removed, or the node is
    deleted.
    """

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class Exists:
    """Test whether a node exists; the watch fires when it is created, changed or deleted."""

    path: str
    watch: bool = False


Request = Write | Multi | GetData | GetChildren | Exists


# ---- answers -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Created:
    """Answer to Create: the path of the new node (with its digits, if sequential)."""

    path: str
    stat: Stat


@dataclass(frozen=True, slots=True)
class Written:
    """Answer to SetData: the node's metadata after the write."""

    stat: Stat


@dataclass(frozen=True, slots=True)
class Done:
    """Answer to Delete and Check."""


@dataclass(frozen=True, slots=True)
class Node:
    """Answer to GetData."""

    data: bytes | None
    stat: Stat


@dataclass(frozen=True, slots=True)
class Children:
    """Answer to GetChildren."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Presence:
    """Answer to Exists: None where the node is absent."""

    stat: Stat | None


@dataclass(frozen=True, slots=True)
class Committed:
    """Answer to a Multi that was applied: one answer for each of its writes."""

    answers: tuple[Created | Written | Done, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """Answer to a Multi that was not applied: which of its writes failed, and why."""

    index: int
    error: Conflict


Answer = Created | Written | Done | Node | Children | Presence | Committed | Refused | Conflict


# ---- events -------------------------------------------------------------------------------------


class Change(Enum):
    """The kind of change that a watch reports."""

    CREATED = "created"
    DELETED = "deleted"
    DATA = "data"
    CHILDREN = "children"


@dataclass(frozen=True, slots=True)
class WatchFired:
    """A watched node changed; the watch is removed."""

    path: str
    change: Change


class Session(Enum):
    """The state of the client's session with the store."""

    CONNECTED = "connected"
    SUSPENDED = "suspended"  # connection lost; the session may survive
    EXPIRED = "expired"  # ephemeral nodes and watches are gone


@dataclass(frozen=True, slots=True)
class SessionChanged:
    """The session with the store has entered this state."""

    state: Session


StoreEvent = WatchFired | SessionChanged
Listener = Callable[[StoreEvent], None]


class Store(Protocol):
    """A metadata store.

    `batch` may be called from one thread at a time. Events may come from any thread, and a listener
    must only put them in a queue.
    """

    def listen(self, listener: Listener) -> None:
        """Send every event from now on to this listener (one listener; a second replaces it)."""
        ...

    def batch(self, requests: Sequence[Request]) -> list[Answer]:
        """Execute requests in sequence, in one pipelined round trip; one answer each.

        Raises StoreUnavailable or SessionExpired when the outcome is unknown.
        """
        ...

    def renew_session(self) -> None:
        """Begin a new session; ephemeral nodes and watches of the old one are removed."""
        ...

    def close(self) -> None:
        """End the session: ephemeral nodes are removed at once. Closing twice is allowed."""
        ...
