"""Features: the levels that the whole cluster has agreed on.

A level must be in the range of this controller, of every registered broker, and of every controller
of the quorum, which must have registered. Going down needs to be asked for; metadata.version goes
down only if no level in between has changed the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kedge.metadata import metadata_version
from kedge.metadata.brokers import KRAFT_VERSION
from kedge.metadata.decision import ELR_FEATURE, Decision, Situation, of_version_0
from kedge.metadata.open_enum import OpenEnum
from kedge.metadata.records import (
    ConfigRecord,
    FeatureLevelRecord,
    FeatureRange,
    MetadataRecord,
    NoOpRecord,
)
from kedge.metadata.refusal import SUCCESS, ApiError, Refused
from kedge.metadata.topic_settings import ALL_BROKERS, MIN_ISR, ResourceKind, static_min_isr
from kedge.model.error_codes import ErrorCode
from kedge.model.scala_map_order import properties_order

_ELR_NEEDS_LEVEL = 23
_WITHOUT_LEVELS = frozenset({"streams.version"})  # known, but no level above 0 is finished yet


class UpgradeType(OpenEnum):
    """Which way a level may go; the numbers are those on the wire."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    """The level that a feature should have."""

    feature: str
    level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE


@dataclass(frozen=True, slots=True)
class UpdateFeatures:
    """UpdateFeatures."""

    updates: tuple[FeatureUpdate, ...]
    validate_only: bool = False


def update_features(at: Situation, request: UpdateFeatures) -> Decision[ApiError]:
    """Set all levels, or none."""
    wanted = {update.feature: update for update in request.updates}
    proposed = {**at.image.features, **{u.feature: u.level for u in request.updates}}
    records: list[MetadataRecord] = []
    try:
        for feature in properties_order(wanted):  # of two faults the answer has Kafka's first
            records += _update(at, wanted[feature], proposed)
    except Refused as refused:
        message = (
            "The update failed for all features since the following feature had an error: "
            f"{refused.error.message}"
        )
        return Decision(ApiError(refused.error.code, message))
    if request.validate_only:
        return Decision(SUCCESS)
    if any(u.feature == ELR_FEATURE and u.level > 0 for u in request.updates):
        records = [*_before_elr(at), *records]
    return Decision(SUCCESS, of_version_0(records))


def _before_elr(at: Situation) -> Iterable[ConfigRecord]:
    """One min.insync.replicas for the cluster: single brokers must not differ with ELR."""
    if MIN_ISR not in at.image.config(ALL_BROKERS):
        yield ConfigRecord(*ALL_BROKERS, MIN_ISR, str(static_min_isr(at)))
    for kind, name in sorted(at.image.configs):
        if kind == ResourceKind.BROKER and name and MIN_ISR in at.image.config((kind, name)):
            yield ConfigRecord(kind, name, MIN_ISR, None)


def _update(
    at: Situation, update: FeatureUpdate, proposed: Mapping[str, int]
) -> list[MetadataRecord]:
    feature, level, way = update.feature, update.level, update.upgrade_type
    if way is UpgradeType.UNKNOWN:
        raise _invalid(update, "The controller does not support the given upgrade type.")
    if level < 0:
        raise _invalid(update, "A feature version cannot be less than 0.")
    if reason := _unsupported(at, feature, level):
        raise _invalid(update, reason)
    current = at.kraft_version if feature == KRAFT_VERSION else at.image.features.get(feature, 0)
    if level < current and way is UpgradeType.UPGRADE:
        raise _invalid(
            update,
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade.",
        )
    if level > current and way is not UpgradeType.UPGRADE:
        raise _invalid(update, "Can't downgrade to a newer version.")
    if feature == metadata_version.FEATURE:
        _validate_metadata_version(at, update)
    elif feature == KRAFT_VERSION:
        return _update_kraft_version(at, update)
    elif feature not in at.settings.features and feature not in _WITHOUT_LEVELS:
        raise _invalid(update, f"Feature {feature} not found.")
    elif feature == ELR_FEATURE and level >= 1:
        _validate_elr_level(update, proposed.get(metadata_version.FEATURE, 0))
    return [FeatureLevelRecord(feature, level)]


def _validate_elr_level(update: FeatureUpdate, proposed: int) -> None:
    if proposed < _ELR_NEEDS_LEVEL:
        raise _invalid(
            update,
            f"{update.feature} could not be set to {update.level} because it depends on "
            f"{metadata_version.FEATURE} level {_ELR_NEEDS_LEVEL}",
        )


def _update_kraft_version(at: Situation, update: FeatureUpdate) -> list[MetadataRecord]:
    """The version of raft itself: the quorum writes it with control records, never back.

    The empty record gives the caller something to wait for.
    """
    if update.upgrade_type is UpgradeType.UPGRADE:
        if why := at.refuses_kraft_version(update.level):
            raise Refused(ErrorCode.INVALID_UPDATE_VERSION, why)
        return [NoOpRecord()]
    if update.level != at.kraft_version:
        raise _invalid(update, "Can't downgrade the version of this feature.")
    return []


def _validate_metadata_version(at: Situation, update: FeatureUpdate) -> None:
    if update.level >= at.level or not metadata_version.loses_records(at.level, update.level):
        return
    if update.upgrade_type is UpgradeType.UNSAFE_DOWNGRADE:
        why = "Unsafe metadata downgrade is not supported in this version."
    else:
        why = (
            "Refusing to perform the requested downgrade because it might delete metadata "
            "information."
        )
    raise Refused(
        ErrorCode.INVALID_UPDATE_VERSION, f"Invalid metadata.version {update.level}. {why}"
    )


def _unsupported(at: Situation, feature: str, level: int) -> str | None:
    """Who does not support a level, in words; None if all do."""
    settings = at.settings
    if why := _reason(
        f"Local controller {settings.node_id}", settings.features.get(feature), level
    ):
        return why
    for broker in sorted(at.image.brokers.values(), key=lambda broker: broker.id):
        if why := _reason(f"Broker {broker.id}", _range(broker.features, feature), level):
            return why
    if not metadata_version.has_controller_registration(at.level):
        return None
    others = {c: r for c, r in sorted(at.image.controllers.items()) if c != settings.node_id}
    for controller, registration in others.items():
        found = _range(registration.features, feature)
        if why := _reason(f"Controller {controller}", found, level):
            return why
    for voter in settings.voters:
        if voter != settings.node_id and voter not in others:
            return f"controller {voter} has not registered, and may not support this feature"
    return None


def _range(features: Iterable[FeatureRange], name: str) -> tuple[int, int] | None:
    for feature in features:
        if feature.name == name:
            return feature.min_supported_version, feature.max_supported_version
    return None


def _reason(who: str, supported: tuple[int, int] | None, level: int) -> str | None:
    low, high = supported or (0, 0)
    if low <= level <= high:
        return None
    if high == 0:
        return f"{who} does not support this feature."
    return f"{who} only supports versions {low if low == high else f'{low}-{high}'}"


def _invalid(update: FeatureUpdate, why: str) -> Refused:
    message = f"Invalid update version {update.level} for feature {update.feature}. {why}"
    return Refused(ErrorCode.INVALID_UPDATE_VERSION, message)
