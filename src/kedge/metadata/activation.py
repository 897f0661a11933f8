"""The first decision of a new active controller.

An empty log gets the bootstrap records, as one transaction where the level knows transactions. A
transaction that the previous controller left open is taken back. Otherwise nothing is written: the
new controller already has everything.
"""

from __future__ import annotations

from dataclasses import dataclass

from kedge.metadata import metadata_version
from kedge.metadata.decision import ELR_FEATURE, Decision, Situation, of_version_0
from kedge.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    MetadataRecord,
    NoOpRecord,
)
from kedge.metadata.soft import at_claim
from kedge.metadata.topic_settings import ALL_BROKERS, MIN_ISR, static_min_isr


@dataclass(frozen=True, slots=True)
class Activate:
    """This controller has become the active one."""


@dataclass(frozen=True, slots=True)
class WriteNoOp:
    """The periodic record that keeps offsets and time moving."""


def activate(at: Situation, request: Activate) -> Decision[None]:
    """Write what a new term begins with."""
    records: list[MetadataRecord] = []
    if at.image.before_transaction is not None:
        records.append(AbortTransactionRecord("Controller failover"))
    if not _known_level(at):
        records += _bootstrap(at)
    return Decision(None, of_version_0(records), at_claim(at.image, at.now_ms), atomic=False)


def _known_level(at: Situation) -> bool:
    """Whether the log has said a metadata.version, outside a transaction that is taken back."""
    image = at.image.before_transaction or at.image
    return metadata_version.FEATURE in image.features


def _bootstrap(at: Situation) -> list[MetadataRecord]:
    features = dict(at.settings.bootstrap)
    level = features.pop(metadata_version.FEATURE, metadata_version.LATEST)
    records: list[MetadataRecord] = [FeatureLevelRecord(metadata_version.FEATURE, level)]
    records += [FeatureLevelRecord(name, features[name]) for name in sorted(features)]
    if features.get(ELR_FEATURE, 0) > 0:
        records.append(ConfigRecord(*ALL_BROKERS, MIN_ISR, str(static_min_isr(at))))
    if metadata_version.has_transactions(level):
        return [BeginTransactionRecord("Bootstrap records"), *records, EndTransactionRecord()]
    return records


def write_no_op(at: Situation, request: WriteNoOp) -> Decision[bool]:
    """Write nothing that matters."""
    return Decision(False, of_version_0([NoOpRecord()]), atomic=False)
