"""Configs and client quotas of a cluster in memory: a few configs of each kind, in levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kedge.cluster.port import (
    BROKER_DEFAULTS,
    ConfigChange,
    ConfigEntry,
    ConfigOp,
    ConfigResource,
    Configs,
    ConfigSource,
    ConfigSynonym,
    QuotaEntity,
    ResourceKind,
)
from kedge.errors import InvalidConfiguration

# a few configs of each kind, with their default values
TOPIC_CONFIGS = {
    "cleanup.policy": "delete",
    "follower.replication.throttled.replicas": "",
    "leader.replication.throttled.replicas": "",
    "max.message.bytes": "1048588",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.ms": "604800000",
}
BROKER_CONFIGS = {"log.retention.ms": "604800000", "log.segment.bytes": "1073741824"}
LISTS = ("cleanup.policy", *(name for name in TOPIC_CONFIGS if name.endswith("replicas")))
NUMBERS = ("retention.ms", "retention.bytes", "segment.ms", "min.insync.replicas")
OWN_SOURCE = {
    ResourceKind.TOPIC: ConfigSource.TOPIC,
    ResourceKind.BROKER: ConfigSource.BROKER,
    ResourceKind.CLIENT_METRICS: ConfigSource.CLIENT_METRICS,
    ResourceKind.GROUP: ConfigSource.GROUP,
}


class MemoryConfigs:
    """The configs that were set, by resource."""

    def __init__(self) -> None:
        self._own: dict[ConfigResource, dict[str, str]] = {}

    def entries(self, resource: ConfigResource, *, synonyms: bool) -> Configs:
        """Every config of a resource, with where its value comes from."""
        own, shared = self._own.get(resource, {}), self._own.get(BROKER_DEFAULTS, {})
        layers = [
            (OWN_SOURCE[resource.kind], own),
            (ConfigSource.BUILT_IN, _built_in(resource)),
        ]
        if resource == BROKER_DEFAULTS:
            layers = [(ConfigSource.ALL_BROKERS, shared)]
        elif resource.kind is ResourceKind.BROKER:
            layers.insert(1, (ConfigSource.ALL_BROKERS, shared))
        names = sorted({name for _, layer in layers for name in layer})
        return tuple(_entry(name, layers, synonyms) for name in names)

    def alter(
        self, resource: ConfigResource, steps: Sequence[ConfigChange], *, validate_only: bool
    ) -> None:
        """Apply all of the steps, or none."""
        result = dict(self._own.get(resource, {}))
        for step in steps:
            _apply(resource, result, step)
        if not validate_only:
            self._own[resource] = result

    def names(self, kind: ResourceKind) -> frozenset[str]:
        """The resources of a kind that have configs."""
        return frozenset(each.name for each, own in self._own.items() if each.kind is kind and own)

    def put(self, resource: ConfigResource, configs: Mapping[str, str]) -> None:
        """Set these and no others."""
        self._own[resource] = dict(configs)

    def forget(self, resource: ConfigResource) -> None:
        """Remove the configs of a deleted resource."""
        self._own.pop(resource, None)


class MemoryQuotas:
    """The quotas that were set, by client."""

    def __init__(self) -> None:
        self._own: dict[QuotaEntity, dict[str, float]] = {}

    def matching(self, entity: QuotaEntity, *, strict: bool) -> dict[QuotaEntity, dict[str, float]]:
        """The quotas of the clients that an entity names; `*` is any name."""
        wanted = dict(entity.parts)

        def fits(known: dict[str, str | None]) -> bool:
            named = all(
                kind in known and name in ("*", known[kind]) for kind, name in wanted.items()
            )
            return named and (not strict or known.keys() == wanted.keys())

        return {each: dict(q) for each, q in self._own.items() if fits(dict(each.parts))}

    def alter(self, entity: QuotaEntity, changes: Mapping[str, float | None]) -> None:
        """Set quotas, and remove those that are None."""
        quotas = self._own.setdefault(entity, {})
        for key, value in changes.items():
            quotas.pop(key, None)
            if value is not None:
                quotas[key] = value
        if not quotas:
            del self._own[entity]


def _built_in(resource: ConfigResource) -> dict[str, str]:
    return TOPIC_CONFIGS if resource.kind is ResourceKind.TOPIC else BROKER_CONFIGS


def _entry(
    name: str, layers: Sequence[tuple[ConfigSource, Mapping[str, str]]], synonyms: bool
) -> ConfigEntry:
    found = [ConfigSynonym(name, layer[name], source) for source, layer in layers if name in layer]
    entry = ConfigEntry(name, found[0].value, found[0].source, synonyms=tuple(found))
    return entry if synonyms else replace(entry, synonyms=())


def check_config(resource: ConfigResource, name: str, value: str | None) -> None:
    """Refuse an unknown config, and text where a number belongs."""
    if resource.kind is ResourceKind.TOPIC and name not in TOPIC_CONFIGS:
        raise InvalidConfiguration(f"no topic config {name!r}")
    if name in NUMBERS and not (value or "").lstrip("-").isdigit():
        raise InvalidConfiguration(f"{value!r} is not a value of {name}")


def _apply(resource: ConfigResource, result: dict[str, str], step: ConfigChange) -> None:
    if step.op is ConfigOp.DELETE:
        result.pop(step.name, None)
        return
    value = step.value or ""
    check_config(resource, step.name, value)
    if step.op is ConfigOp.SET:
        result[step.name] = value
        return
    if step.name not in LISTS:
        raise InvalidConfiguration(f"{step.name} is not a list")
    old = result.get(step.name, _built_in(resource)[step.name])
    items = old.split(",") if old else []
    named = value.split(",")
    if step.op is ConfigOp.APPEND:
        items += [item for item in named if item not in items]
    else:
        items = [item for item in items if item not in named]
    result[step.name] = ",".join(items)
