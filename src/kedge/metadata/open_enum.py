"""Numbers on the wire to which newer releases may add: unknown ones are UNKNOWN."""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class OpenEnum(IntEnum):
    """An enumeration with a member UNKNOWN for every number that it does not have."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        return cls["UNKNOWN"]
