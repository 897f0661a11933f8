"""Makes plans as commands keep them: with the digest of their snapshot and the time of making.

The compiled code of a search runs without Python's lock, so a second thread imports what the search
needs while the snapshot is read, and computes the digest while the search runs.

    with PlanMaker() as maker:                  # imports begin
        snapshot = take_snapshot(cluster, …)
        plan = maker.plan_of(snapshot, Goals(remove_brokers=frozenset({3})))
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from kedge.balance.preload import preload
from kedge.model import sha256_of_snapshot

if TYPE_CHECKING:
    from kedge.balance import Goals
    from kedge.balance.planner import OutOfTime, ProgressListener, Solved
    from kedge.model import Snapshot
    from kedge.plan import Plan


class PlanMaker:
    """Makes plans within a `with` block."""

    def __enter__(self) -> PlanMaker:
        self._pool = ThreadPoolExecutor(1)
        self._pool.submit(preload)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def plan_of(
        self,
        snapshot: Snapshot,
        goals: Goals,
        seed: int = 0,
        *,
        progress: ProgressListener | None = None,
        out_of_time: OutOfTime | None = None,
        use_all_time: bool = False,
        on_solved: Callable[[Solved], None] | None = None,
    ) -> Plan:
        """The plan of `balance.plan_of`, with digest and time."""
        from kedge.balance import plan_of

        digest = self._pool.submit(sha256_of_snapshot, snapshot)
        plan = plan_of(
            snapshot,
            goals,
            seed,
            clock=monotonic,
            progress=progress,
            out_of_time=out_of_time,
            use_all_time=use_all_time,
            on_solved=on_solved,
        )
        now = datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
        return replace(plan, snapshot_sha256=digest.result(), created_at=now)
