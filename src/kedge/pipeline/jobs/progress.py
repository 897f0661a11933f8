"""How a job tells where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Progress(Protocol):
    """Is told of the session once, and of each stage as it begins."""

    def attach(self, session: SparkSession) -> None:
        """The session that the stages run in."""
        ...

    def stage(self, name: str, rows: int) -> None:
        """The next stage begins, on about so many rows."""
        ...


class Silent:
    """Tells nobody."""

    def attach(self, session: SparkSession) -> None:
        """Nothing to watch."""

    def stage(self, name: str, rows: int) -> None:
        """Nothing to say."""
