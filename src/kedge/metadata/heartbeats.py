"""Heartbeats: how brokers are unfenced, fenced and shut down.

    state          the heartbeat asks           next
    fenced         shut down                    shut down now
    fenced         to be unfenced, caught up    unfenced
    fenced         to be unfenced, behind       fenced
    unfenced       to be fenced                 fenced; shut down now if it wants that too
    unfenced       shut down                    controlled shutdown if it leads, else now
    shutting down  anything                     stays while it leads; shut down now as soon as all
                                                active brokers have seen how its shutdown began

Contact is noted before anything else, so a broker with a wrong epoch or a refused request is still
alive. A broker that is silent for more than a session is fenced, one broker at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kedge.metadata import metadata_version
from kedge.metadata.decision import Decision, Situation
from kedge.metadata.ids import Uuid
from kedge.metadata.image import NONE_OF_THEM, BrokerRegistration
from kedge.metadata.partition_changes import PartitionChanger
from kedge.metadata.records import (
    FENCE,
    UNFENCE,
    BrokerRegistrationChangeRecord,
    Versioned,
)
from kedge.metadata.refusal import Refused
from kedge.metadata.registrations import check_broker_epoch
from kedge.metadata.soft import BrokerState
from kedge.model.error_codes import ErrorCode
from kedge.model.java_text import INT64_MAX


class Life(Enum):
    """The state of a broker as heartbeats change it."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """BrokerHeartbeat."""

    broker: int
    broker_epoch: int
    metadata_offset: int
    want_fence: bool = False
    want_shutdown: bool = False
    offline_directories: tuple[Uuid, ...] = ()


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    """The answer to the broker."""

    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


@dataclass(frozen=True, slots=True)
class FenceStaleBroker:
    """The periodic look at sessions."""


def heartbeat(at: Situation, request: Heartbeat) -> Decision[HeartbeatAnswer]:
    """Move a broker to its next state."""
    broker = _registration(at, request)
    state = at.soft.brokers[broker.id]
    now, following = _life(state), _next_life(at, request, state, broker)
    records = [] if now is following else _transition(at, broker, following)
    fenced = following in (Life.FENCED, Life.SHUTDOWN_NOW)
    touched = state.touched(fenced=fenced, metadata_offset=request.metadata_offset)
    if metadata_version.has_directories(at.level):
        records += _offline_directories(at, broker, request.offline_directories)
    answer = HeartbeatAnswer(
        is_caught_up=request.metadata_offset >= broker.offset,
        is_fenced=fenced,
        should_shut_down=following is Life.SHUTDOWN_NOW,
    )
    return Decision(
        answer,
        tuple(records),
        at.soft.with_broker(broker.id, touched),
        atomic=False,
        shuts_down=broker.id if following is Life.CONTROLLED_SHUTDOWN else None,
    )


def _registration(at: Situation, request: Heartbeat) -> BrokerRegistration:
    if request.broker not in at.image.brokers:
        raise Refused(
            ErrorCode.STALE_BROKER_EPOCH,
            f"Receive a heartbeat from broker {request.broker} before registration",
        )
    return check_broker_epoch(at.image, request.broker, request.broker_epoch)


def _life(state: BrokerState) -> Life:
    if state.shutting_down:
        return Life.CONTROLLED_SHUTDOWN
    return Life.FENCED if state.fenced else Life.UNFENCED


def _next_life(
    at: Situation, request: Heartbeat, state: BrokerState, broker: BrokerRegistration
) -> Life:
    match _life(state):
        case Life.FENCED:
            if request.want_shutdown:
                return Life.SHUTDOWN_NOW
            caught_up = request.metadata_offset >= broker.offset
            return Life.UNFENCED if caught_up and not request.want_fence else Life.FENCED
        case Life.UNFENCED:
            if request.want_fence:
                return Life.SHUTDOWN_NOW if request.want_shutdown else Life.FENCED
            if not request.want_shutdown:
                return Life.UNFENCED
            leads = at.image.leads_something(broker.id)
            return Life.CONTROLLED_SHUTDOWN if leads else Life.SHUTDOWN_NOW
        case _:
            seen_by_all = state.shutdown_offset <= _lowest_active_offset(at)
            leads = at.image.leads_something(broker.id)
            return Life.SHUTDOWN_NOW if seen_by_all and not leads else Life.CONTROLLED_SHUTDOWN


def _lowest_active_offset(at: Situation) -> int:
    offsets = (s.metadata_offset for s in at.soft.brokers.values() if s.active)
    return min(offsets, default=INT64_MAX)


def _transition(at: Situation, broker: BrokerRegistration, following: Life) -> list[Versioned]:
    changer, indexes = PartitionChanger(at), at.image.indexes
    change = BrokerRegistrationChangeRecord(broker.id, broker.epoch, fenced=UNFENCE)
    match following:
        case Life.UNFENCED:
            return [Versioned(change), *changer.updates(indexes.leaderless, add=broker.id)]
        case Life.CONTROLLED_SHUTDOWN:
            begins = BrokerRegistrationChangeRecord(
                broker.id, broker.epoch, in_controlled_shutdown=1
            )
            in_isr = indexes.in_isr.get(broker.id, NONE_OF_THEM)
            told = [] if broker.in_controlled_shutdown else [Versioned(begins, 1)]
            return [*told, *changer.updates(in_isr, remove=broker.id)]
        case _:
            return fenced(at, broker)


def fenced(at: Situation, broker: BrokerRegistration) -> list[Versioned]:
    """The records that fence a broker: it leaves all ISRs first."""
    in_isr = at.image.indexes.in_isr.get(broker.id, NONE_OF_THEM)
    change = BrokerRegistrationChangeRecord(broker.id, broker.epoch, fenced=FENCE)
    return [*PartitionChanger(at).updates(in_isr, remove=broker.id), Versioned(change)]


def _offline_directories(
    at: Situation, broker: BrokerRegistration, reported: tuple[Uuid, ...]
) -> list[Versioned]:
    """Partitions in directories that have just gone offline lose that replica."""
    lost = [d for d in broker.directories if d in reported]
    if not lost:
        return []
    changer = PartitionChanger(at)
    records: list[Versioned] = []
    for directory in lost:
        there = at.image.indexes.in_directory.get(directory, NONE_OF_THEM)
        records += changer.updates(there, remove=broker.id)
    left = tuple(d for d in broker.directories if d not in reported)
    change = BrokerRegistrationChangeRecord(broker.id, broker.epoch, log_dirs=left)
    return [*records, Versioned(change, 2)]


def fence_stale_broker(at: Situation, request: FenceStaleBroker) -> Decision[bool]:
    """Fence one broker whose session has ended; the answer says whether there may be more."""
    expired = at.soft.one_expired(at.now_ms, at.settings.session_ms)
    if expired is None:
        return Decision(False)
    soft = at.soft.without_contact(expired)
    broker = at.image.brokers.get(expired[0])
    if broker is None:
        return Decision(True, (), soft.without_broker(expired[0]))
    if broker.epoch != expired[1]:
        return Decision(True, (), soft)
    state = soft.brokers.get(broker.id)
    if state is not None:
        known = BrokerState(True, state.metadata_offset, state.shutdown_offset)
        soft = soft.with_broker(broker.id, known)
    return Decision(True, tuple(fenced(at, broker)), soft, atomic=False)
