"""Configs and quotas as `kafka-configs --describe` shows them, and as rows for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kedge.cluster.port import ConfigEntry, QuotaEntity

KINDS = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}


def config_lines(title: str, entries: Iterable[ConfigEntry]) -> list[str]:
    """A title and one line per config."""
    return [title, *(f"  {_line(entry)}" for entry in entries)]


def _line(entry: ConfigEntry) -> str:
    synonyms = ", ".join(f"{s.source}:{s.name}={_shown(s.value)}" for s in entry.synonyms)
    return (
        f"{entry.name}={_shown(entry.value)} sensitive={str(entry.sensitive).lower()} "
        f"synonyms={{{synonyms}}}"
    )


def _shown(value: str | None) -> str:
    return "null" if value is None else value


def config_rows(entries: Iterable[ConfigEntry]) -> list[dict[str, Any]]:
    """One object per config."""
    return [
        {
            "name": entry.name,
            "value": entry.value,
            "source": str(entry.source),
            "sensitive": entry.sensitive,
            "read_only": entry.read_only,
            "synonyms": [
                {"name": s.name, "value": s.value, "source": str(s.source)} for s in entry.synonyms
            ],
        }
        for entry in entries
    ]


def quota_line(entity: QuotaEntity, quotas: Mapping[str, float]) -> str:
    """One entity and its quotas."""
    whom = ", ".join(_whom(*part) for part in entity.parts)
    listed = ", ".join(f"{key}={_java_double(value)}" for key, value in sorted(quotas.items()))
    return f"Quota configs for {whom} are {listed}"


def quota_rows(found: Mapping[QuotaEntity, Mapping[str, float]]) -> list[dict[str, Any]]:
    """One object per entity; a null name is the default."""
    return [
        {"entity": dict(entity.parts), "quotas": dict(sorted(quotas.items()))}
        for entity, quotas in found.items()
    ]


def by_name(found: Iterable[QuotaEntity]) -> list[QuotaEntity]:
    """Entities in the order of their names, defaults last."""

    def key(entity: QuotaEntity) -> list[tuple[str, bool, str]]:
        return [(kind, name is None, name or "") for kind, name in entity.parts]

    return sorted(found, key=key)


def _whom(kind: str, name: str | None) -> str:
    word = KINDS.get(kind, kind)
    return f"the default {word}" if name is None else f"{word} '{name}'"


def _java_double(value: float) -> str:
    """A number as Java prints it: with a point, and with an E outside 10⁻³ to 10⁷."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(value))
    digits, _, exponent = f"{value:.16e}".partition("e")
    shortest = repr(value / 10 ** int(exponent)) if value else digits
    return f"{shortest}E{int(exponent)}"
