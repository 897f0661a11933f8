"""The port to the metadata store: ZooKeeper's model, as values.

A tree of versioned nodes. A caller hands over a batch of requests, which an adapter sends in one
pipelined round, and gets one answer per request, in order. A refusal (`Conflict`: wrong version,
node exists, node missing) is an answer like any other, for the caller to judge; only the loss of
the connection or of the session is raised, and then any request of the batch may or may not have
been carried out.

Watches are one-shot, as ZooKeeper's are. A read with `watch=True` leaves one, and the first change
after it is told to the listener once. A watch says "look again", never what changed.

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
    """What the store knows of a node besides its data.

    `created` is the store-wide number of the transaction that created the node (ZooKeeper's
    czxid): it only ever grows, so a node that was replaced has a larger one.
    """

    version: int
    created: int
    modified: int
    children: int
    ephemeral: bool


# ---- writes, which may also stand in a Multi -------------------------------------------------


@dataclass(frozen=True, slots=True)
class Create:
    """Make a node; its parent must be there. A sequential node gets ten digits appended."""

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
    """Nothing but the demand that a node is there with this version."""

    path: str
    version: int = ANY_VERSION


Write = Create | SetData | Delete | Check


@dataclass(frozen=True, slots=True)
class Multi:
    """Writes that happen together or not at all."""

    writes: tuple[Write, ...]


# ---- reads -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GetData:
    """A node's data; the watch fires when the data changes or the node is deleted."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class GetChildren:
    """A node's children, sorted; the watch fires when one comes or goes or the node is deleted."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class Exists:
    """Whether a node is there; the watch fires when it is created, changed or deleted."""

    path: str
    watch: bool = False


Request = Write | Multi | GetData | GetChildren | Exists


# ---- answers -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Created:
    """To Create: the path made (with its digits, if sequential)."""

    path: str
    stat: Stat


@dataclass(frozen=True, slots=True)
class Written:
    """To SetData: the node as it is now."""

    stat: Stat


@dataclass(frozen=True, slots=True)
class Done:
    """To Delete and Check."""


@dataclass(frozen=True, slots=True)
class Node:
    """To GetData."""

    data: bytes | None
    stat: Stat


@dataclass(frozen=True, slots=True)
class Children:
    """To GetChildren."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Presence:
    """To Exists: None where the node is absent."""

    stat: Stat | None


@dataclass(frozen=True, slots=True)
class Committed:
    """To a Multi that happened: one answer for each of its writes."""

    answers: tuple[Created | Written | Done, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """To a Multi that did not happen: which of its writes was refused, and why."""

    index: int
    error: Conflict


Answer = Created | Written | Done | Node | Children | Presence | Committed | Refused | Conflict


# ---- what the store says by itself --------------------------------------------------------------


class Change(Enum):
    """What a watch saw."""

    CREATED = "created"
    DELETED = "deleted"
    DATA = "data"
    CHILDREN = "children"


@dataclass(frozen=True, slots=True)
class WatchFired:
    """A watched node changed; the watch is spent."""

    path: str
    change: Change


class Session(Enum):
    """The state of our session with the store."""

    CONNECTED = "connected"
    SUSPENDED = "suspended"  # connection lost; the session may yet survive
    EXPIRED = "expired"  # ephemeral nodes and watches are gone; a new session has begun or will


@dataclass(frozen=True, slots=True)
class SessionChanged:
    """Our session with the store is now in this state."""

    state: Session


Notice = WatchFired | SessionChanged
Listener = Callable[[Notice], None]


class Store(Protocol):
    """A metadata store. `batch` may be called from one thread at a time; notices may come from
    any thread, and a listener must only put them in a queue."""

    def listen(self, listener: Listener) -> None:
        """Tell this listener of every notice from now on (one listener; a second replaces it)."""
        ...

    def batch(self, requests: Sequence[Request]) -> list[Answer]:
        """Carry out requests in order, in one pipelined round; one answer each.

        Raises StoreUnavailable or SessionExpired when the outcome cannot be known.
        """
        ...

    def renew_session(self) -> None:
        """Begin a new session; the old one's ephemeral nodes and watches end."""
        ...

    def close(self) -> None:
        """End the session: ephemeral nodes go at once. Closing twice is fine."""
        ...
