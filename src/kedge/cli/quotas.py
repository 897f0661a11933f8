"""Matches and alters client quotas for `kedge configs` (KIP-546)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kedge.cli.entities import Entity
from kedge.errors import InvalidConfiguration, InvalidRequest, MalformedInput

if TYPE_CHECKING:
    from kedge.cluster.port import Cluster, QuotaEntity

KINDS = {"users": "user", "clients": "client-id", "ips": "ip"}
ANY = "*"
SCRAM = "SCRAM-"


def matching(entities: Sequence[Entity]) -> QuotaEntity:
    """The entity to match; without a name any of that type, and never one with more types."""
    from kedge.cluster.port import quota_entity

    return quota_entity(
        (KINDS[e.kind], ANY if e.name is None else e.name or None) for e in entities
    )


def alter_quotas(
    cluster: Cluster,
    entities: Sequence[Entity],
    added: Mapping[str, str],
    removed: Sequence[str],
    *,
    dry_run: bool,
) -> None:
    """Set and remove quotas of one entity; what is not set cannot be removed."""
    from kedge.topics import refuse_repeated_keys

    refuse_repeated_keys([*added, *removed])
    entity = matching(entities)
    changes: dict[str, float | None] = {key: _rate(key, text) for key, text in added.items()}
    now = cluster.describe_quotas(entity, strict=True).get(entity, {})
    absent = [key for key in removed if key not in now]
    if absent:
        raise InvalidConfiguration(f"Invalid config(s): {','.join(absent)}")
    changes |= dict.fromkeys(removed)
    if dry_run:
        return
    for refusal in cluster.alter_quotas(entity, changes).values():
        if refusal is not None:
            raise refusal


def _rate(key: str, text: str) -> float:
    if key.upper().startswith(SCRAM):
        raise InvalidRequest(
            "SCRAM passwords are not changed here", hint="use kafka-configs for credentials"
        )
    try:
        return float(text)
    except ValueError as error:
        raise MalformedInput(f"{text!r} is not a number", place=key) from error
