"""What machines and links stand on: the parts of a world that they use, and nothing of the rest.

The simulator's `World` is one; so is whatever else runs simulated brokers in a time of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from kedge.brokers.around import Fetch, Fetched
from kedge.brokers.hosting import Timings
from kedge.brokers.log import Touched
from kedge.controller.events import Event
from kedge.controller.settings import Settings
from kedge.model import BrokerId
from kedge.model.broker_requests import BrokerRequest
from kedge.sim.clock import Clock
from kedge.sim.network import Network, Reply
from kedge.sim.truth import Truth
from kedge.store.memory import MemoryStore
from kedge.store.port import Answer, Request

if TYPE_CHECKING:
    from kedge.sim.machines import BrokerMachine


class Ground(Protocol):
    """Time, the network, the store, and the way of data."""

    @property
    def clock(self) -> Clock: ...

    @property
    def network(self) -> Network: ...

    @property
    def timings(self) -> Timings: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def truth(self) -> Truth: ...

    @property
    def touched(self) -> Touched: ...

    @property
    def machines(self) -> Mapping[BrokerId, BrokerMachine]: ...

    def new_session(self, node: str) -> MemoryStore:
        """A session with the store."""
        ...

    def batch(self, node: str, store: MemoryStore, requests: Sequence[Request]) -> list[Answer]:
        """Requests to the store, with the name of who made them."""
        ...

    def request_sent(self, controller: BrokerId, request: BrokerRequest) -> None:
        """A controller speaks to a broker."""
        ...

    def ask_controller(
        self,
        source: str,
        controller: BrokerId | None,
        event: Event,
        answered: Reply,
        failed: Callable[[], None],
    ) -> None:
        """Ask whoever is believed to be the controller; the belief may be wrong."""
        ...

    def carry(
        self,
        fetch: Fetch,
        leader: BrokerId,
        fetched: Fetched,
        arrived: Callable[[], None],
        *,
        was_waiting: bool,
    ) -> Callable[[], object] | None:
        """Take records from a leader to a follower, who may have waited for them; how to stop
        that, or None when they have arrived at once."""
        ...
