"""Client quotas: limits by user, client id or address.

An entity is a set of parts, for instance a user and a client id; no name means the default of that
type. Which keys an entity may have depends on its parts. Unchanged values write nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kedge.metadata.decision import Decision, Situation, of_version_0, refuse_too_many
from kedge.metadata.image import QuotaEntity
from kedge.metadata.records import ClientQuotaRecord, QuotaEntityPart
from kedge.metadata.refusal import SUCCESS, ApiError, Refused
from kedge.model.error_codes import ErrorCode
from kedge.model.java_text import INT32_MAX, INT64_MAX

USER, CLIENT_ID, IP = "user", "client-id", "ip"

# whole numbers up to a limit; None: any number
_USER_KEYS: Mapping[str, int | None] = {
    "producer_byte_rate": INT64_MAX,
    "consumer_byte_rate": INT64_MAX,
    "request_percentage": None,
    "controller_mutation_rate": None,
}
_IP_KEYS: Mapping[str, int | None] = {"connection_creation_rate": INT32_MAX}

_FRACTION = 1e-6

Quotas: TypeAlias = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class QuotaAlteration:
    """Quotas to set, or with None to remove, for one entity."""

    entity: QuotaEntity
    ops: tuple[tuple[str, float | None], ...]


@dataclass(frozen=True, slots=True)
class AlterQuotas:
    """AlterClientQuotas."""

    entries: tuple[QuotaAlteration, ...]
    validate_only: bool = False


def alter_quotas(at: Situation, request: AlterQuotas) -> Decision[dict[QuotaEntity, ApiError]]:
    """Set and remove quotas; an entity that is refused leaves the others as they are."""
    results: dict[QuotaEntity, ApiError] = {}
    records: list[ClientQuotaRecord] = []
    for entry in request.entries:
        try:
            records += _alter(at, entry, results)
            results[entry.entity] = SUCCESS
        except Refused as refused:
            results[entry.entity] = refused.error
    refuse_too_many(len(records))
    return Decision(results, () if request.validate_only else of_version_0(records))


def _alter(
    at: Situation, entry: QuotaAlteration, results: Mapping[QuotaEntity, ApiError]
) -> list[ClientQuotaRecord]:
    wanted = dict(entry.ops)
    if entry.entity in results or len(wanted) < len(entry.ops):
        shown = ", ".join(f"{k}={'null' if n is None else n}" for k, n in entry.entity)
        raise _invalid(f"Ignoring duplicate entity ClientQuotaEntity(entries={{{shown}}})")
    keys = _keys_for(at, entry.entity)
    current = at.image.quotas.get(entry.entity, {})
    parts = tuple(QuotaEntityPart(kind, name) for kind, name in entry.entity)
    records: list[ClientQuotaRecord] = []
    for key, value in wanted.items():
        if value is None:
            if key in current:
                records.append(ClientQuotaRecord(parts, key, 0.0, remove=True))
        else:
            _validate(keys, key, value)
            if current.get(key) != value:
                records.append(ClientQuotaRecord(parts, key, float(value), remove=False))
    return records


def _keys_for(at: Situation, entity: QuotaEntity) -> Mapping[str, int | None]:
    """The keys that an entity may have, or the first reason why it is none."""
    if not entity:
        raise _invalid("Invalid empty client quota entity")
    names = dict(entity)
    for kind, name in entity:
        if kind not in (USER, CLIENT_ID, IP):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
    if IP not in names:
        return _USER_KEYS
    if len(names) > 1:
        raise _invalid(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or "
            "ClientId"
        )
    address = names[IP]
    if address is not None and not _is_address(address) and not at.resolves(address):
        raise _invalid(f"{address} is not a valid IP or resolvable host.")
    return _IP_KEYS


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _validate(keys: Mapping[str, int | None], key: str, value: float) -> None:
    if key not in keys:
        raise _invalid(f"Invalid configuration key {key}")
    if value <= 0.0:
        raise _invalid(f"Quota {key} must be greater than 0")
    limit = keys[key]
    if limit is None:
        return
    if value > limit:
        kind = "an INT" if limit == INT32_MAX else "a LONG"
        raise _invalid(f"Proposed value for {key} is too large for {kind}.")
    if abs(value % 1.0) > _FRACTION:
        raise _invalid(f"{key} cannot be a fractional value.")


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)
