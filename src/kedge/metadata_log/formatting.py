"""The format step: an empty directory becomes that of a controller."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kedge.errors import InvalidRequest
from kedge.metadata import Versioned, metadata_version
from kedge.metadata.decision import ELR_FEATURE
from kedge.metadata.records import FeatureLevelRecord
from kedge.metadata_log import checkpoints
from kedge.metadata_log.checkpoints import SnapshotVoters
from kedge.metadata_log.meta_properties import FILE, MetaProperties, write_meta_properties
from kedge.quorum.values import EpochOffset, VoterSet

BOOTSTRAP = "bootstrap.checkpoint"
PARTITION = "__cluster_metadata-0"


@dataclass(frozen=True, slots=True)
class FormatRequest:
    """What to write; with voters the quorum is dynamic (kraft.version 1)."""

    meta: MetaProperties
    metadata_version: int = metadata_version.LATEST
    features: Mapping[str, int] = field(default_factory=dict[str, int])
    voters: VoterSet | None = None


def default_features(level: int) -> dict[str, int]:
    """The features that Kafka's format step switches on beside metadata.version."""
    found = {"group.version": 1, "transaction.version": 2} if level >= 22 else {}
    return {ELR_FEATURE: 1, **found} if level >= 26 else found


def format_directory(directory: Path, request: FormatRequest) -> None:
    """Write the files of a new controller; `meta.properties` comes last."""
    if (directory / FILE).exists():
        raise InvalidRequest(
            f"{directory} is already formatted", hint="use --ignore-formatted to leave it as it is"
        )
    directory.mkdir(parents=True, exist_ok=True)
    now_ms = time.time_ns() // 1_000_000
    levels = {**default_features(request.metadata_version), **request.features}
    records = [FeatureLevelRecord(metadata_version.FEATURE, request.metadata_version)]
    records += [FeatureLevelRecord(name, levels[name]) for name in sorted(levels) if levels[name]]
    checkpoints.write(directory / BOOTSTRAP, 1, map(Versioned, records), timestamp_ms=now_ms)
    if request.voters is not None:
        log = directory / PARTITION
        log.mkdir(exist_ok=True)
        path = checkpoints.path_of(log, EpochOffset(0, 0))
        voters = SnapshotVoters(1, request.voters)
        checkpoints.write(path, 0, (), timestamp_ms=now_ms, voters=voters)
    write_meta_properties(directory, request.meta)


def read_bootstrap(directory: Path) -> dict[str, int]:
    """The features that the first leader of an empty log writes."""
    path = directory / BOOTSTRAP
    if not path.exists():
        level = metadata_version.LATEST
        return {metadata_version.FEATURE: level, **default_features(level)}
    records = (versioned.record for versioned in checkpoints.read(path))
    return {
        record.name: record.feature_level
        for record in records
        if isinstance(record, FeatureLevelRecord)
    }
