"""Values that are made by the ten thousand.

A frozen dataclass sets each field through `object.__setattr__`, which makes a record of thirteen
fields three times as dear. Such a class is immutable for the type checker alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

Value = TypeVar("Value")


@dataclass_transform(frozen_default=True)
def value_type(kind: type[Value]) -> type[Value]:
    """A dataclass with slots that is equal by value, hashable and never assigned to."""
    return dataclass(slots=True, unsafe_hash=True)(kind)
