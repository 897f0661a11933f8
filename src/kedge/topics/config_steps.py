"""Applies incremental changes to a map of configs: set, delete, append, subtract (KIP-339)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from kedge.errors import DuplicateInRequest, InvalidConfiguration, InvalidRequest
from kedge.topics.config_keys import ConfigKey, Release
from kedge.topics.config_table import V3_9
from kedge.topics.config_types import ConfigType


class Op(Enum):
    """The operation on a config; the numbers are those on the wire."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class Alteration:
    """One step. A DELETE needs no value."""

    name: str
    op: Op = Op.SET
    value: str | None = None


def apply_alterations(
    current: Mapping[str, str], steps: Sequence[Alteration], release: Release = V3_9
) -> dict[str, str]:
    """The overrides after all steps; only the steps themselves are validated.

    SET takes any name, since the whole result is validated later. APPEND and SUBTRACT work on lists
    and start from the built-in default where the topic has no override.
    """
    refuse_repeated_keys(step.name for step in steps)
    result = dict(current)
    for step in steps:
        _apply(result, step, release)
    return result


def refuse_repeated_keys(names: Iterable[str]) -> None:
    """Refuse a request that names the same config twice."""
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise DuplicateInRequest(f"the request has {', '.join(twice)} more than once")


def refuse_absent_keys(current: Mapping[str, str], names: Iterable[str]) -> None:
    """Refuse to delete a config that is not set: a rule of kafka-configs, not of brokers."""
    absent = [name for name in names if name not in current]
    if absent:
        raise InvalidConfiguration(f"Invalid config(s): {','.join(absent)}")


def _apply(result: dict[str, str], step: Alteration, release: Release) -> None:
    if step.op is Op.DELETE:
        result.pop(step.name, None)
        return
    if step.value is None:
        raise InvalidRequest(f"config {step.name} has no value", hint="delete it instead")
    if step.op is Op.SET:
        result[step.name] = step.value
        return
    key = _list_key(step, release)
    old = result.get(step.name, key.default or "")
    change = _append if step.op is Op.APPEND else _subtract
    result[step.name] = ",".join(change(_pieces(old) if old else [], _pieces(step.value)))


def _list_key(step: Alteration, release: Release) -> ConfigKey:
    key = release.key(step.name)
    if key.kind is not ConfigType.LIST:
        raise InvalidConfiguration(
            f"{step.op.name.lower()}: {step.name} is not a list", hint="set it instead"
        )
    return key


def _append(old: Sequence[str], more: Sequence[str]) -> list[str]:
    return [*old, *(item for item in more if item not in old)]


def _subtract(old: Sequence[str], less: Sequence[str]) -> list[str]:
    """The list without one occurrence of each named item."""
    left = list(old)
    for item in less:
        if item in left:
            left.remove(item)
    return left


def _pieces(text: str) -> list[str]:
    """Split at bare commas, as brokers do here: blanks stay, empty pieces at the end go."""
    pieces = text.split(",")
    while text and pieces and not pieces[-1]:
        pieces.pop()
    return pieces
