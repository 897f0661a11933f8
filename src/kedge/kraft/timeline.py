"""The image at two points of the log: what is committed, and what this node has appended since."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from kedge.metadata import EMPTY, Image, Versioned, replay_all


class Uncommitted(NamedTuple):
    """The image after an append whose last record has this offset."""

    last: int
    image: Image


class Timeline:
    """Images are immutable and share what did not change: keeping several costs little."""

    def __init__(self) -> None:
        self.committed: Image = EMPTY
        self._later: deque[Uncommitted] = deque()

    @property
    def newest(self) -> Image:
        """The image with everything that this node has appended."""
        return self._later[-1].image if self._later else self.committed

    @property
    def stable(self) -> Image:
        """What readers may see: committed, and not inside an open transaction."""
        return self.committed.before_transaction or self.committed

    @property
    def last_appended(self) -> int | None:
        """The offset of the newest uncommitted record; None if all is committed."""
        return self._later[-1].last if self._later else None

    def append(self, records: Iterable[Versioned], first: int, last: int) -> None:
        """Replay records that this node has appended."""
        image = replay_all(self.newest, (versioned.record for versioned in records), first)
        self._later.append(Uncommitted(last, image))

    def commit_appended(self, offset: int) -> None:
        """What this node appended is committed up to an offset."""
        while self._later and self._later[0].last <= offset:
            self.committed = self._later.popleft().image

    def replay(self, records: Iterable[Versioned], first: int) -> None:
        """Replay committed records of whichever leader."""
        assert not self._later
        self.committed = replay_all(
            self.committed, (versioned.record for versioned in records), first
        )

    def roll_back(self) -> None:
        """Drop what is not committed: this node leads no longer."""
        self._later.clear()

    def load(self, records: Iterable[Versioned]) -> None:
        """Begin anew from a snapshot."""
        self._later.clear()
        self.committed = replay_all(EMPTY, (versioned.record for versioned in records))
