"""The timeline of a cluster: what its controller has done, as reads of the cluster show it."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from kedge.model import Snapshot
from kedge.watch.cluster_changes import ChangeKind, ClusterChange, changes_between

KEPT = 2_000


class Timeline:
    """The last changes of one cluster, numbered; kept in memory since this server started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._number = 0

    def add(
        self,
        before: tuple[Snapshot, int | None],
        after: tuple[Snapshot, int | None],
        at: float,
    ) -> list[dict[str, Any]]:
        """Append what has changed between two reads, each with its controller; returns the rows."""
        found = changes_between(before[0], after[0], at)
        if before[1] != after[1]:
            brokers = tuple(each for each in (before[1], after[1]) if each is not None)
            text = f"Controller {_named(before[1])} → {_named(after[1])}"
            found.insert(0, ClusterChange(at, ChangeKind.CONTROLLER, text, 1, brokers))
        with self._lock:
            rows = [self._numbered(each) for each in found]
            self._rows.extend(rows)
        return rows

    def _numbered(self, change: ClusterChange) -> dict[str, Any]:
        self._number += 1
        return {
            "number": self._number,
            "at": change.at,
            "kind": change.kind.value,
            "text": change.text,
            "count": change.count,
            "brokers": list(change.brokers),
        }

    def after(self, number: int, limit: int) -> list[dict[str, Any]]:
        """The newest changes with higher numbers, newest first."""
        with self._lock:
            newest = [row for row in self._rows if row["number"] > number]
        return newest[::-1][:limit]


def _named(controller: int | None) -> str:
    return "none" if controller is None else str(controller)
