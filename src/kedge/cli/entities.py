"""Parses the entity whose configs are meant: `--entity-type topics`, or `--topic orders` for short.

    topics  brokers  broker-loggers  client-metrics  groups     resources with configs
    users  clients  ips                                         clients with quotas

A type belongs to the name (or default) at the same position. The two ways of naming do
not mix. Only users and clients may be named together: the quota of a client of a user.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kedge.errors import InvalidRequest, MalformedNumber
from kedge.model.java_text import whole_number

CONFIG_TYPES = ("topics", "brokers", "broker-loggers", "client-metrics", "groups")
QUOTA_TYPES = ("users", "clients", "ips")
TYPES = CONFIG_TYPES + QUOTA_TYPES
WITH_DEFAULT = ("brokers", "users", "clients", "ips")


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity, all of a type (name None), or the default of a type (the empty name)."""

    kind: str
    name: str | None = None

    @property
    def is_default(self) -> bool:
        """Whether it is the default of the type."""
        return self.name == ""

    @property
    def has_quotas(self) -> bool:
        """Whether it is a client rather than a part of the cluster."""
        return self.kind in QUOTA_TYPES

    @property
    def singular(self) -> str:
        """The word for one of them."""
        return self.kind if self.kind == "client-metrics" else self.kind.removesuffix("s")


def entities_from(
    types: Sequence[str],
    names: Sequence[str],
    *,
    defaults: int,
    shortcuts: Mapping[str, str | None],
) -> tuple[Entity, ...]:
    """The entities named; `shortcuts` maps types to names, the empty one for a default."""
    short = [Entity(kind, name) for kind, name in shortcuts.items() if name is not None]
    if short and (types or names or defaults):
        raise InvalidRequest(
            "--entity-type and the short forms exclude each other", hint="use one of the two ways"
        )
    chosen = tuple(short) if short else _long(types, names, defaults)
    _judge(chosen)
    return chosen


def _long(types: Sequence[str], names: Sequence[str], defaults: int) -> tuple[Entity, ...]:
    if not types:
        raise InvalidRequest("No entity given", hint="use --topic, --broker, or --entity-type")
    for kind in types:
        if kind not in TYPES:
            raise InvalidRequest(
                f"Unknown --entity-type {kind!r}", hint=f"use one of {', '.join(TYPES)}"
            )
    given: list[str | None] = [*names, *[""] * defaults]
    if len(given) > len(types):
        raise InvalidRequest(
            "More names than entity types", hint="use one --entity-name per --entity-type"
        )
    given += [None] * (len(types) - len(given))
    return tuple(Entity(kind, name) for kind, name in zip(types, given, strict=True))


def _judge(chosen: Sequence[Entity]) -> None:
    kinds = [entity.kind for entity in chosen]
    if len(set(kinds)) < len(kinds):
        raise InvalidRequest("An entity type is given twice", hint="use each type once")
    if len(kinds) > 1 and set(kinds) != {"users", "clients"}:
        raise InvalidRequest(
            f"{' and '.join(kinds)} cannot be combined", hint="only users and clients can"
        )
    for entity in chosen:
        if entity.is_default and entity.kind not in WITH_DEFAULT:
            raise InvalidRequest(f"{entity.kind} have no default", hint="use --entity-name")
        numbered = entity.kind in ("brokers", "broker-loggers") and entity.name
        if numbered and whole_number(entity.name or "") is None:
            raise MalformedNumber(f"{entity.name!r} is not a broker id", place="--entity-name")
