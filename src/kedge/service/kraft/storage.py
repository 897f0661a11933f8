"""The format step of a controller, from its configuration."""

from __future__ import annotations

from collections.abc import Mapping

from kedge.errors import InvalidRequest
from kedge.metadata import metadata_version
from kedge.metadata.decision import SUPPORTED_FEATURES
from kedge.metadata_log import FormatRequest, MetaProperties, format_directory
from kedge.metadata_log.meta_properties import FILE
from kedge.quorum.values import ReplicaKey, Voter, VoterSet
from kedge.service.kraft.host import new_id
from kedge.service.kraft.properties import ServerProperties
from kedge.topics import decode_id


def format_controller(
    properties: ServerProperties,
    cluster_id: str,
    *,
    release: str,
    features: Mapping[str, int],
    standalone: bool,
    ignore_formatted: bool,
) -> str:
    """Format the metadata directory; what was done, in a sentence."""
    _check_cluster_id(cluster_id)
    level = metadata_version.level_of(release)
    if level is None:
        raise InvalidRequest(f"{release!r} is not a known metadata.version", hint="as in 4.1-IV1")
    _check_features(features)
    if ignore_formatted and (properties.directory / FILE).exists():
        return f"{properties.directory} is already formatted, and is left as it is"
    meta = MetaProperties(cluster_id, properties.node_id, new_id())
    key = ReplicaKey(properties.node_id, meta.directory_id)
    alone = VoterSet([Voter(key, (properties.advertised,), 0, 1)])
    request = FormatRequest(meta, level, features, alone if standalone else None)
    format_directory(properties.directory, request)
    return f"formatted {properties.directory} with metadata.version {release}"


def _check_cluster_id(cluster_id: str) -> None:
    try:
        valid = len(cluster_id) == 22 and len(decode_id(cluster_id)) == 16
    except ValueError:
        valid = False
    if not valid:
        raise InvalidRequest(
            f"{cluster_id!r} is not a cluster id", hint="16 bytes as 22 letters of base64"
        )


def _check_features(features: Mapping[str, int]) -> None:
    for name, level in features.items():
        low, high = SUPPORTED_FEATURES.get(name, (0, -1))
        if not low <= level <= high:
            raise InvalidRequest(
                f"the feature {name} has no level {level}",
                hint=f"known: {', '.join(sorted(SUPPORTED_FEATURES))}",
            )
