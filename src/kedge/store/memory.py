"""The store in memory: one tree, and any number of sessions attached to it.

A `MemoryEnsemble` is what a ZooKeeper ensemble is; each `MemoryStore` is one session with it and
has its own ephemeral nodes and watches. So two controllers and some brokers run against one tree
in one process, with nothing left to chance: notices are handed over in the order of the commits,
after the batch that caused them.

What can go wrong on a network is done on purpose:

    ensemble = MemoryEnsemble()
    first, second = MemoryStore(ensemble), MemoryStore(ensemble)
    first.disconnect()                          # batches raise StoreUnavailable
    first.reconnect()                           # watches that fired meanwhile are told now
    first.disconnect_during_next_batch(after=1) # one request is carried out, its answer is lost
    second.expire()                             # ephemeral nodes go; SessionExpired until renewed

`deliver` stands between the tree and the listeners: the simulator passes its own, and hands each
`Delivery` over later, or never. With a journal the tree outlives the process.
"""

from __future__ import annotations

from collections.abc import Sequence

from kedge.errors import SessionExpired, StoreUnavailable
from kedge.store.ensemble import Deliver, Delivery, MemoryEnsemble
from kedge.store.port import Answer, Listener, Notice, Request, Session, SessionChanged
from kedge.store.requests import check_requests

__all__ = ["Deliver", "Delivery", "MemoryEnsemble", "MemoryStore"]


class MemoryStore:
    """One session with an ensemble; by default with an ensemble of its own."""

    def __init__(self, ensemble: MemoryEnsemble | None = None) -> None:
        self.ensemble = MemoryEnsemble() if ensemble is None else ensemble
        self.session = self.ensemble.begin_session(self)
        self._state: Session | None = Session.CONNECTED  # None once closed
        self._ended = False  # by the ensemble, whether we know it yet or not
        self._break_after: int | None = None
        self._held: list[Delivery] = []
        self._listener: Listener = _nobody_listens

    # ---- the port ----

    def listen(self, listener: Listener) -> None:
        self._listener = listener

    def batch(self, requests: Sequence[Request]) -> list[Answer]:
        self._check_reachable()
        if self._state is Session.EXPIRED:
            raise SessionExpired("the session has expired", hint="begin a new one")
        if self._break_after is None:
            return self.ensemble.batch(self.session, requests)
        check_requests(requests, bytes_max=self.ensemble.bytes_max)
        carried_out, self._break_after = requests[: self._break_after], None
        self.ensemble.batch(self.session, carried_out)
        self.disconnect()
        raise StoreUnavailable("the connection to the store broke; the outcome is unknown")

    def renew_session(self) -> None:
        self._check_reachable()
        self.ensemble.end_session(self.session)
        self._held.clear()
        self._ended = False
        self.session = self.ensemble.begin_session(self)
        self._become(Session.CONNECTED)

    def close(self) -> None:
        if self._state is not None:
            self._state = None
            self.ensemble.end_session(self.session)

    # ---- faults ----

    def disconnect(self) -> None:
        """Break the connection; the session lives on."""
        if self._state is Session.CONNECTED:
            self._become(Session.SUSPENDED)

    def disconnect_during_next_batch(self, *, after: int) -> None:
        """Let the next batch break when so many of its requests have been carried out.

        With as many as the batch has, everything happens and only the answers are lost.
        """
        self._break_after = after

    def reconnect(self) -> None:
        """Mend the connection: what was missed is told now, be it the end of the session."""
        if self._state is Session.SUSPENDED:
            self._become(Session.EXPIRED if self._ended else Session.CONNECTED)
            held, self._held = self._held, []
            for delivery in held:
                self.hear(delivery)

    def expire(self) -> None:
        """End the session from the store's side; if disconnected, we hear of it at reconnecting."""
        if self._state is None or self._ended:
            return
        self._ended = True
        self.ensemble.end_session(self.session)
        if self._state is Session.CONNECTED:
            self._become(Session.EXPIRED)

    # ---- for the ensemble ----

    def hear(self, delivery: Delivery) -> None:
        """Take a notice; those of an earlier session come too late, those of none are dropped."""
        fired = not isinstance(delivery.notice, SessionChanged)
        if self._state is None or delivery.session != self.session or (fired and self._ended):
            return
        if fired and self._state is Session.SUSPENDED:
            self._held.append(delivery)
        else:
            self._listener(delivery.notice)

    def _become(self, state: Session) -> None:
        self._state = state
        self.ensemble.tell(self, self.session, SessionChanged(state))

    def _check_reachable(self) -> None:
        if self._state is None:
            raise StoreUnavailable("this session with the store is closed")
        if self._state is Session.SUSPENDED:
            raise StoreUnavailable("no connection to the store")


def _nobody_listens(_notice: Notice) -> None:
    """The listener until there is one."""
