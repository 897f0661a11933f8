"""Plans that many look at: a plan never changes, so that it is parsed and verified once.

Two of each are under way at a time: each takes a processor. Requests that wait hold no thread.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from starlette.concurrency import run_in_threadpool

from kedge.balance import verify_against
from kedge.plan import Plan
from kedge.web.documents import Documents

Row = dict[str, Any]
T = TypeVar("T")
AT_ONCE = 2
PLANS_KEPT = 4  # all partitions of each are in memory
VERIFICATIONS_KEPT = 100


class KeptReads(Generic[T]):
    """Reads of what never changes; those that were asked for last are kept."""

    def __init__(self, kept_max: int) -> None:
        self._kept_max, self._slots = kept_max, asyncio.Semaphore(AT_ONCE)
        self._kept: OrderedDict[Hashable, T] = OrderedDict()

    async def read(self, key: Hashable, read: Callable[[], T]) -> T:
        """What `read` returns for a key, or has returned."""
        if key not in self._kept:
            async with self._slots:
                if key not in self._kept:  # another has read it meanwhile
                    self._keep(key, await run_in_threadpool(read))
                return self._kept[key]
        self._kept.move_to_end(key)
        return self._kept[key]

    def _keep(self, key: Hashable, value: T) -> None:
        self._kept[key] = value
        self._kept.move_to_end(key)
        if len(self._kept) > self._kept_max:
            self._kept.popitem(last=False)


class PlanReads:
    """The plans of a database, parsed, and what verifying them has found."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._plans = KeptReads[Plan](PLANS_KEPT)
        self._verifications = KeptReads[Row](VERIFICATIONS_KEPT)

    async def plan(self, cluster: str, plan_id: str) -> Plan:
        """One plan."""
        return await self._plans.read(
            (cluster, plan_id), lambda: self._documents.plan(cluster, plan_id)
        )

    async def verification(self, cluster: str, plan_id: str) -> Row:
        """Every figure and every bound of a plan, computed again from its snapshot."""
        return await self._verifications.read(
            (cluster, plan_id), lambda: self._verified(cluster, plan_id)
        )

    def _verified(self, cluster: str, plan_id: str) -> Row:
        snapshot_id = self._documents.plan_row(cluster, plan_id).snapshot_id
        plan = self._documents.plan(cluster, plan_id)
        findings = verify_against(plan, self._documents.snapshot(cluster, snapshot_id))
        return {
            "partitions": len(plan.partitions),
            "errors": sum(finding.fatal for finding in findings),
            "findings": [
                {"severity": f.severity, "kind": f.kind, "place": f.place, "what": f.what}
                for f in findings
            ],
        }
