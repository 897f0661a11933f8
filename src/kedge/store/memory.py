"""The store in memory: one tree, with any number of sessions attached to it.

A `MemoryEnsemble` stands for a ZooKeeper ensemble; each `MemoryStore` is one session with it and
has its own ephemeral nodes and watches. So two controllers and some brokers run against one tree
in one process, deterministically: events are delivered in commit sequence, after the batch that
caused them.

Network faults are injected by calls:

    ensemble = MemoryEnsemble()
    first, second = MemoryStore(ensemble), MemoryStore(ensemble)
    first.disconnect()                          # batches raise StoreUnavailable
    first.reconnect()                           # delivers the watch events of the meantime
    first.disconnect_during_next_batch(after=1) # one request is executed, its answer is lost
    second.expire()                             # ephemeral nodes go; SessionExpired until renewed

`deliver` is called for every event on its way to a listener: the simulator passes its own, and
delivers each `Delivery` later, or never. With a journal the tree survives the process.
"""

from __future__ import annotations

from collections.abc import Sequence

from kedge.errors import SessionExpired, StoreUnavailable
from kedge.store.ensemble import Deliver, Delivery, MemoryEnsemble
from kedge.store.port import Answer, Listener, Request, Session, SessionChanged, StoreEvent
from kedge.store.request_checks import check_requests

__all__ = ["Deliver", "Delivery", "MemoryEnsemble", "MemoryStore"]


class MemoryStore:
    """One session with an ensemble; by default with an ensemble of its own."""

    def __init__(self, ensemble: MemoryEnsemble | None = None) -> None:
        self.ensemble = MemoryEnsemble() if ensemble is None else ensemble
        self.session = self.ensemble.begin_session(self)
        self._state: Session | None = Session.CONNECTED  # None once closed
        self._ended_by_ensemble = False  # whether the client knows it yet or not
        self._disconnect_after: int | None = None
        self._held_back: list[Delivery] = []
        self._listener: Listener = _ignore_event

    # ---- the port ----

    def listen(self, listener: Listener) -> None:
        self._listener = listener

    def batch(self, requests: Sequence[Request]) -> list[Answer]:
        self._check_reachable()
        if self._state is Session.EXPIRED:
            raise SessionExpired("the session has expired", hint="begin a new one")
        if self._disconnect_after is None:
            return self.ensemble.batch(self.session, requests)
        check_requests(requests, bytes_max=self.ensemble.bytes_max)
        executed, self._disconnect_after = requests[: self._disconnect_after], None
        self.ensemble.batch(self.session, executed)
        self.disconnect()
        raise StoreUnavailable("the connection to the store broke; the outcome is unknown")

    def renew_session(self) -> None:
        self._check_reachable()
        self.ensemble.end_session(self.session)
        self._held_back.clear()
        self._ended_by_ensemble = False
        self.session = self.ensemble.begin_session(self)
        self._set_state(Session.CONNECTED)

    def close(self) -> None:
        if self._state is not None:
            self._state = None
            self.ensemble.end_session(self.session)

    # ---- faults ----

    def disconnect(self) -> None:
        """Break the connection; the session continues."""
        if self._state is Session.CONNECTED:
            self._set_state(Session.SUSPENDED)

    def disconnect_during_next_batch(self, *, after: int | None) -> None:
        """Break the connection in the next batch, after this many of its requests were executed.

        If `after` is the length of the batch, all requests are executed and only the answers are
        lost. None cancels a break that has not happened yet.
        """
        self._disconnect_after = after

    def reconnect(self) -> None:
        """Restore the connection and deliver missed events, including the end of the session."""
        if self._state is Session.SUSPENDED:
            self._set_state(Session.EXPIRED if self._ended_by_ensemble else Session.CONNECTED)
            held, self._held_back = self._held_back, []
            for delivery in held:
                self.receive(delivery)

    def expire(self) -> None:
        """End the session at the ensemble; a disconnected client learns it when it reconnects."""
        if self._state is None or self._ended_by_ensemble:
            return
        self._ended_by_ensemble = True
        self.ensemble.end_session(self.session)
        if self._state is Session.CONNECTED:
            self._set_state(Session.EXPIRED)

    # ---- for the ensemble ----

    def receive(self, delivery: Delivery) -> None:
        """Take an event; events of an earlier session, or of a closed store, are dropped."""
        fired = not isinstance(delivery.event, SessionChanged)
        if (
            self._state is None
            or delivery.session != self.session
            or (fired and self._ended_by_ensemble)
        ):
            return
        if fired and self._state is Session.SUSPENDED:
            self._held_back.append(delivery)
        else:
            self._listener(delivery.event)

    def _set_state(self, state: Session) -> None:
        self._state = state
        self.ensemble.notify(self, self.session, SessionChanged(state))

    def _check_reachable(self) -> None:
        if self._state is None:
            raise StoreUnavailable("this session with the store is closed")
        if self._state is Session.SUSPENDED:
            raise StoreUnavailable("no connection to the store")


def _ignore_event(_event: StoreEvent) -> None:
    """The listener until `listen` sets one."""
