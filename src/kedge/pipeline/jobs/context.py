"""What every job gets from its caller: a factory of Spark sessions and a progress reporter."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# called only when a job has work for Spark; the session is stopped at the end of the block
SessionFactory = Callable[[], "AbstractContextManager[SparkSession]"]
# the same with the number of rows that the job will process, which the settings may depend on
SizedSessionFactory = Callable[[int], "AbstractContextManager[SparkSession]"]


# the session of a job that may do without it: it is opened by the first call
SessionOnDemand = Callable[[], "SparkSession"]


@contextmanager
def on_demand(factory: SessionFactory, progress: Progress) -> Generator[SessionOnDemand]:
    """A session that is opened when it is first asked for, and stopped after the block."""
    with ExitStack() as stack:

        @cache
        def opened() -> SparkSession:
            session = stack.enter_context(factory())
            progress.attach(session)
            return session

        yield opened


class Progress(Protocol):
    """Receives the session once, and each stage when it begins."""

    def attach(self, session: SparkSession) -> None:
        """Use this session to observe the tasks of the stages."""
        ...

    def stage(self, name: str, amount: int, unit: str = "rows") -> None:
        """Begin a stage that processes about this many rows, bytes or clusters."""
        ...


class NoProgress:
    """Reports nothing."""

    def attach(self, session: SparkSession) -> None:
        """Do nothing."""

    def stage(self, name: str, amount: int, unit: str = "rows") -> None:
        """Do nothing."""
