"""Records with a number of their own, so that a record can be found again in the committed log."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

from kedge.metadata import Versioned

RECORD_BYTES = 64


class Numbered(NamedTuple):
    """A record as the simulated log keeps it."""

    number: int
    record: Versioned

    def __hash__(self) -> int:
        return self.number


class NumberedRecords:
    """Numbers the records that one process appends; `fresh` has those since it was last cleared."""

    def __init__(self, numbers: count[int]) -> None:
        self._numbers = numbers
        self.fresh: list[Numbered] = []

    def encode(self, record: Versioned) -> Numbered:
        """The record with the next number."""
        kept = Numbered(next(self._numbers), record)
        self.fresh.append(kept)
        return kept

    def decode(self, kept: object) -> Versioned:
        """The record alone."""
        assert isinstance(kept, Numbered)
        return kept.record

    def size(self, kept: object) -> int:
        """Every record counts the same."""
        return RECORD_BYTES
