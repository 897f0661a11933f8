"""What only the active controller knows of brokers: nothing of it is in the log.

A new active controller starts without it: unfenced brokers get a whole session of grace, and a
controlled shutdown starts again with the broker's next heartbeat. The state follows the records as
they are written: a record about a broker makes its reported offset unknown until it is heard again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from kedge.metadata import records as r
from kedge.metadata.image import Image

Incarnation: TypeAlias = tuple[int, int]  # broker and epoch

UNKNOWN_OFFSET = -1
NOT_SHUTTING_DOWN = -1


@dataclass(frozen=True, slots=True)
class BrokerState:
    """A broker as its heartbeats show it.

    `shutdown_offset` is the end of the records with which its controlled shutdown began.
    """

    fenced: bool
    metadata_offset: int = UNKNOWN_OFFSET
    shutdown_offset: int = NOT_SHUTTING_DOWN

    @property
    def shutting_down(self) -> bool:
        return self.shutdown_offset >= 0

    @property
    def active(self) -> bool:
        """Whether its offset counts when others wait to shut down."""
        return not self.fenced and not self.shutting_down

    def touched(self, *, fenced: bool, metadata_offset: int) -> BrokerState:
        """Heard of it; a fenced broker leaves controlled shutdown."""
        shutdown = NOT_SHUTTING_DOWN if fenced else self.shutdown_offset
        return BrokerState(fenced, metadata_offset, shutdown)


@dataclass(frozen=True, slots=True)
class SoftState:
    """The brokers' states, and when each incarnation was last in contact."""

    brokers: Mapping[int, BrokerState] = field(default_factory=dict[int, BrokerState])
    contacts: Mapping[Incarnation, int] = field(default_factory=dict[Incarnation, int])

    def with_broker(self, broker: int, state: BrokerState) -> SoftState:
        """The same with a broker's state."""
        return replace(self, brokers={**self.brokers, broker: state})

    def without_broker(self, broker: int) -> SoftState:
        """The same without a broker's state."""
        if broker not in self.brokers:
            return self
        return replace(self, brokers={b: s for b, s in self.brokers.items() if b != broker})

    def contacted(self, broker: int, epoch: int, now_ms: int) -> SoftState:
        """A heartbeat has come in, be its epoch right or wrong."""
        return replace(self, contacts={**self.contacts, (broker, epoch): now_ms})

    def without_contact(self, incarnation: Incarnation) -> SoftState:
        """The same without a session."""
        left = {key: at for key, at in self.contacts.items() if key != incarnation}
        return replace(self, contacts=left)

    def has_session(self, incarnation: Incarnation, now_ms: int, session_ms: int) -> bool:
        """Whether the incarnation was in contact within a session."""
        at = self.contacts.get(incarnation)
        return at is not None and at + session_ms >= now_ms

    def one_expired(self, now_ms: int, session_ms: int) -> Incarnation | None:
        """An incarnation that has been silent for more than a session.

        Which one of several has no meaning; it is the first in Kafka's hash table.
        """
        late = [key for key, at in self.contacts.items() if at + session_ms < now_ms]
        capacity = 16
        while len(self.contacts) > capacity * 3 // 4:
            capacity *= 2
        return min(late, key=lambda key: _slot(key, capacity)) if late else None

    def registered(self, broker: int, *, fenced: bool) -> SoftState:
        """A record about the broker was replayed."""
        known = self.brokers.get(broker)
        if known is None:
            return self.with_broker(broker, BrokerState(fenced))
        offset = known.metadata_offset if known.fenced != fenced else UNKNOWN_OFFSET
        return self.with_broker(broker, known.touched(fenced=fenced, metadata_offset=offset))


def _slot(incarnation: Incarnation, capacity: int) -> int:
    """The place of an incarnation in a Java hash table."""
    broker, epoch = incarnation
    folded = (epoch ^ (epoch >> 32)) & 0xFFFFFFFF
    mixed = (31 * (31 + broker) + folded) & 0xFFFFFFFF
    return (mixed ^ (mixed >> 16)) % capacity


def at_claim(image: Image, now_ms: int) -> SoftState:
    """The state of a controller that has just become active."""
    brokers = {b.id: BrokerState(b.fenced) for b in image.brokers.values()}
    contacts = {(b.id, b.epoch): now_ms for b in image.brokers.values() if not b.fenced}
    return SoftState(brokers, contacts)


def followed(soft: SoftState, image: Image, records: Iterable[r.MetadataRecord]) -> SoftState:
    """The state after records were replayed on the image."""
    fenced = {broker.id: broker.fenced for broker in image.brokers.values()}
    for record in records:
        match record:
            case r.PartitionRecord():
                pass  # first, for there are thousands at once
            case r.RegisterBrokerRecord():
                if record.broker_id in fenced:
                    soft = soft.without_broker(record.broker_id)
                fenced[record.broker_id] = record.fenced
                soft = soft.registered(record.broker_id, fenced=record.fenced)
            case r.UnregisterBrokerRecord():
                fenced.pop(record.broker_id, None)
                soft = soft.without_broker(record.broker_id)
            case r.BrokerRegistrationChangeRecord():
                if record.fenced:
                    fenced[record.broker_id] = record.fenced > 0
                soft = soft.registered(record.broker_id, fenced=fenced[record.broker_id])
            case _:
                pass
    return soft
