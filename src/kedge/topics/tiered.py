"""Checks of the configs of topics with remote storage (KIP-405, KIP-950).

They depend on the cluster, so they are apart from the checks of single values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kedge.errors import InvalidConfiguration
from kedge.topics.config_types import Value

AS_RETENTION = -2  # local.retention.*: the same as the topic's retention
UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class TieredRules:
    """Whether the cluster has remote storage, and whether it runs on ZooKeeper."""

    remote_storage: bool = False
    zookeeper: bool = True


def validate_tiered(
    values: Mapping[str, Value], rules: TieredRules, *, was_enabled: bool = False
) -> None:
    """Refuse values that do not go together with remote storage."""
    if rules.zookeeper:
        _validate_zookeeper(values)
    if not values["remote.storage.enable"]:
        _validate_turned_off(values, was_enabled)
        return
    if not rules.remote_storage:
        raise InvalidConfiguration(
            "remote.storage.enable=true, and the brokers have no remote storage",
            hint="set remote.log.storage.system.enable on the brokers",
        )
    if "compact" in _items(values["cleanup.policy"]):
        raise InvalidConfiguration("a compacted topic cannot use remote storage")
    for unit in ("bytes", "ms"):
        _validate_local_retention(unit, _number(values, f"retention.{unit}"), values)


def _validate_zookeeper(values: Mapping[str, Value]) -> None:
    for name in ("remote.log.delete.on.disable", "remote.log.copy.disable"):
        if values[name]:
            raise InvalidConfiguration(f"{name}=true is not possible on ZooKeeper")


def _validate_turned_off(values: Mapping[str, Value], was_enabled: bool) -> None:
    if was_enabled and not values["remote.log.delete.on.disable"]:
        raise InvalidConfiguration(
            "remote storage can only be turned off by giving up what is stored there",
            hint="set remote.log.delete.on.disable=true, or stop copying only",
        )


def _validate_local_retention(unit: str, total: int, values: Mapping[str, Value]) -> None:
    name = f"local.retention.{unit}"
    local = _number(values, name)
    if local == AS_RETENTION:
        return
    # A size below -1 limits nothing either; times cannot be below -1.
    if total > UNLIMITED and (local == UNLIMITED or local > total):
        raise InvalidConfiguration(f"{name}={local} is more than retention.{unit}={total}")
    if values["remote.log.copy.disable"] and local != total:
        raise InvalidConfiguration(
            f"{name}={local}, and retention.{unit}={total} while copying is disabled",
            hint="nothing is copied to remote storage, so both must be equal",
        )


def _number(values: Mapping[str, Value], name: str) -> int:
    value = values[name]
    assert isinstance(value, int), f"{name} was read as a whole number"
    return value


def _items(value: Value) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()
