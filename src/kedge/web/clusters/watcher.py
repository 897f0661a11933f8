"""A thread per cluster that reads it again and again, and publishes what it saw."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kedge.errors import KedgeError
from kedge.web.clusters.registry import ClusterRegistry
from kedge.web.clusters.view import ClusterView
from kedge.web.problems import problem_row

WORK_SHARE = 0.1  # reading a large cluster takes seconds: at most this share of the time
RETRY_S = 5.0
log = logging.getLogger("kedge.web")


@dataclass(frozen=True, slots=True)
class Observed:
    """The latest view of a cluster, and why there is no later one, if there is none."""

    version: int = 0
    view: ClusterView | None = None
    problem: dict[str, Any] | None = None
    failing_since: float | None = None


class ClusterWatcher:
    """Reads one cluster until it is stopped."""

    def __init__(
        self, name: str, registry: ClusterRegistry, publish: Callable[[str, Observed], None]
    ) -> None:
        self.name, self._registry, self._publish = name, registry, publish
        self.observed = Observed()
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._seen = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=f"watch-{name}", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after what it is reading."""
        self._stopping.set()
        self._wanted.set()

    def refresh(self) -> None:
        """Read soon: something was changed."""
        self._wanted.set()

    def await_version(self, version: int, timeout_s: float) -> Observed:
        """What was observed, once it is this version or a later one, or the time is over."""
        with self._seen:
            self._seen.wait_for(lambda: self.observed.version >= version, timeout_s)
        return self.observed

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wanted.clear()
            pause_s = self._read_once()
            self._wanted.wait(pause_s)

    def _read_once(self) -> float:
        """Read, publish, and return the seconds until the next read."""
        began, before = time.monotonic(), self.observed
        settings = self._registry.of(self.name)
        try:
            with self._registry.connect(self.name) as cluster:
                controller = cluster.describe().controller
                snapshot = self._registry.snapshot_of(cluster, self.name)
        except KedgeError as error:
            since = before.failing_since or time.time()
            self._see(Observed(before.version + 1, before.view, problem_row(error), since))
            return max(RETRY_S, settings.sample_s)
        except Exception:
            log.exception("reading the cluster %s failed", self.name)
            return RETRY_S
        took = time.monotonic() - began
        view = ClusterView(snapshot, None if controller is None else int(controller), took)
        self._see(Observed(before.version + 1, view))
        return max(settings.sample_s, took / WORK_SHARE)

    def _see(self, observed: Observed) -> None:
        with self._seen:
            self.observed = observed
            self._seen.notify_all()
        self._publish(self.name, observed)
