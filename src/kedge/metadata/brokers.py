"""Brokers and controllers register; brokers are unregistered.

A registration is refused for the first of these reasons: another cluster, another incarnation whose
session is alive, a migration from ZooKeeper, directories that are missing, reserved, given twice or
held by another broker, and features that do not fit the cluster's levels. A new incarnation first
leaves the ISRs of the old one. Its epoch is the offset of its first record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kedge.metadata import metadata_version
from kedge.metadata.decision import Decision, Situation, of_version_0, refuse_too_many
from kedge.metadata.ids import Uuid, reserved
from kedge.metadata.image import NONE_OF_THEM, BrokerRegistration
from kedge.metadata.partition_changes import PartitionChanger
from kedge.metadata.records import (
    Endpoint,
    FeatureRange,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnregisterBrokerRecord,
    Versioned,
)
from kedge.metadata.refusal import Refused
from kedge.model.error_codes import ErrorCode

KRAFT_VERSION = "kraft.version"
NO_EPOCH = -1
CLEAN_SHUTDOWN_SINCE = 3  # the version of the request that tells the previous epoch


@dataclass(frozen=True, slots=True)
class RegisterBroker:
    """BrokerRegistration."""

    broker: int
    cluster_id: str
    incarnation: Uuid
    listeners: tuple[Endpoint, ...] = ()
    features: tuple[FeatureRange, ...] = ()
    rack: str | None = None
    directories: tuple[Uuid, ...] = ()
    previous_epoch: int = NO_EPOCH
    is_migrating: bool = False
    version: int = 4


@dataclass(frozen=True, slots=True)
class RegisterController:
    """ControllerRegistration."""

    controller: int
    incarnation: Uuid
    listeners: tuple[Endpoint, ...] = ()
    features: tuple[FeatureRange, ...] = ()


@dataclass(frozen=True, slots=True)
class UnregisterBroker:
    """UnregisterBroker."""

    broker: int


def register_broker(at: Situation, request: RegisterBroker) -> Decision[int]:
    """Register a broker, or amend its registration; the answer is its epoch."""
    existing = at.image.brokers.get(request.broker)
    _refuse_strangers(at, request, existing)
    if metadata_version.has_directories(at.level):
        _validate_directories(at, request)
    _validate_features(at, request)
    if existing is not None and existing.incarnation == request.incarnation:
        records, epoch, soft = [], existing.epoch, at.soft
        fenced, shuts_down = existing.fenced, existing.in_controlled_shutdown
    else:
        records, epoch = _leave_isrs(at, request, existing), at.next_offset
        soft = at.soft.without_broker(request.broker)
        fenced, shuts_down = True, False
    record = RegisterBrokerRecord(
        broker_id=request.broker,
        incarnation_id=request.incarnation,
        broker_epoch=epoch,
        end_points=request.listeners,
        features=request.features,
        rack=request.rack,
        fenced=fenced,
        in_controlled_shutdown=shuts_down,
        log_dirs=request.directories if metadata_version.has_directories(at.level) else (),
    )
    records.append(Versioned(record, metadata_version.register_broker_version(at.level)))
    soft = soft.registered(request.broker, fenced=record.fenced)
    return Decision(epoch, tuple(records), soft, atomic=False)


def _refuse_strangers(
    at: Situation, request: RegisterBroker, existing: BrokerRegistration | None
) -> None:
    if request.cluster_id != at.settings.cluster_id:
        raise Refused(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"Expected cluster ID {at.settings.cluster_id}, but got cluster ID "
            f"{request.cluster_id}",
        )
    if (
        existing is not None
        and existing.incarnation != request.incarnation
        and at.soft.has_session((existing.id, existing.epoch), at.now_ms, at.settings.session_ms)
    ):
        raise Refused(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            "Another broker is registered with that broker id. If the broker was recently "
            "restarted this should self-resolve once the heartbeat manager expires the broker's "
            "session.",
        )
    if request.is_migrating:
        raise Refused(
            ErrorCode.BROKER_ID_NOT_REGISTERED,
            "Controller does not support registering ZK brokers.",
        )


def _validate_directories(at: Situation, request: RegisterBroker) -> None:
    given = request.directories
    if not given:
        raise _invalid("No directories specified in request")
    if any(map(reserved, given)):
        raise _invalid("Reserved directory ID in request")
    if len(set(given)) < len(given):
        raise _invalid("Duplicate directory ID in request")
    owners = {d: b.id for b in at.image.brokers.values() for d in b.directories}
    for directory in given:
        owner = owners.get(directory, request.broker)
        if owner != request.broker:
            raise _invalid(f"Broker {owner} is already registered with directory {directory}")


def _validate_features(at: Situation, request: RegisterBroker) -> None:
    """Every finalized level must be in the broker's range; what it does not list it lacks."""
    finalized: Mapping[str, int] = {KRAFT_VERSION: at.kraft_version, **at.image.features}
    for feature in request.features:
        _check_level(feature, finalized.get(feature.name, 0))
    listed = {feature.name for feature in request.features}
    if metadata_version.FEATURE not in listed:
        raise _invalid(f"Request features do not contain '{metadata_version.FEATURE}'")
    for name, level in finalized.items():
        if level and name not in listed:
            _check_level(FeatureRange(name, 0, 0), level)


def _check_level(feature: FeatureRange, finalized: int) -> None:
    low, high = feature.min_supported_version, feature.max_supported_version
    if not low <= finalized <= high:
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION,
            f"Unable to register because the broker does not support finalized version "
            f"{finalized} of {feature.name}. The broker wants a version between {low} and {high}, "
            "inclusive.",
        )


def _leave_isrs(
    at: Situation, request: RegisterBroker, existing: BrokerRegistration | None
) -> list[Versioned]:
    """Take the old incarnation out of ISRs, and out of ELRs if it may have lost records."""
    changer, broker = PartitionChanger(at), request.broker
    in_isr = at.image.indexes.in_isr.get(broker, NONE_OF_THEM)
    clean = (
        request.version >= CLEAN_SHUTDOWN_SINCE
        and existing is not None
        and existing.epoch == request.previous_epoch
    )
    if clean or not at.elr_enabled:
        return changer.updates(in_isr, remove=broker)
    in_elr = at.image.indexes.in_elr.get(broker, NONE_OF_THEM)
    return [
        *changer.updates(in_isr, unclean_shutdown=broker),
        *changer.updates(in_elr, unclean_shutdown=broker),
    ]


def unregister_broker(at: Situation, request: UnregisterBroker) -> Decision[None]:
    """Forget a broker; it leaves ISRs and ELRs, but stays in the replica lists."""
    existing = at.image.brokers.get(request.broker)
    if existing is None:
        raise Refused(
            ErrorCode.BROKER_ID_NOT_REGISTERED,
            f"Broker ID {request.broker} is not currently registered",
        )
    changer, indexes = PartitionChanger(at), at.image.indexes
    records = [
        *changer.updates(indexes.in_isr.get(existing.id, NONE_OF_THEM), remove=existing.id),
        *changer.updates(indexes.in_elr.get(existing.id, NONE_OF_THEM), remove=existing.id),
        Versioned(UnregisterBrokerRecord(existing.id, existing.epoch)),
    ]
    refuse_too_many(len(records))
    return Decision(None, tuple(records), atomic=False)


def register_controller(at: Situation, request: RegisterController) -> Decision[None]:
    """Register a controller; written even if nothing has changed."""
    if not metadata_version.has_controller_registration(at.level):
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION,
            "The current MetadataVersion is too old to support controller registrations.",
        )
    record = RegisterControllerRecord(
        controller_id=request.controller,
        incarnation_id=request.incarnation,
        zk_migration_ready=False,
        end_points=request.listeners,
        features=request.features,
    )
    return Decision(None, of_version_0([record]))


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REGISTRATION, message)
