"""A cluster adapter that passes calls on to another, and fails or lies as a test has set it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, cast

from kedge.cluster.port import Cluster
from kedge.errors import KedgeError

Call = Callable[[], Any]


@dataclass
class Fault:
    """What happens instead of a call, how often still, and after which other call it begins."""

    instead: Callable[[Call], Any]
    times: float
    after: str


class FaultyCluster:
    """Wraps a cluster. Without faults it is the cluster itself.

    faulty = FaultyCluster(MemoryCluster(3))
    faulty.fail("alter_reassignments", ClusterUnavailable("no broker reached"), times=1)
    propose_apply(faulty.port, …)
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._faults: dict[str, list[Fault]] = {}
        self.calls: Counter[str] = Counter()

    @property
    def port(self) -> Cluster:
        """This object as an adapter of the port."""
        return cast("Cluster", self)

    def fail(self, call: str, fault: KedgeError, *, times: float = inf, after: str = "") -> None:
        """Raise a fault instead of the call; nothing happens on the cluster."""

        def instead(_call: Call) -> Any:
            raise fault

        self._add(call, instead, times, after)

    def lose_response(
        self, call: str, fault: KedgeError, *, times: float = inf, after: str = ""
    ) -> None:
        """Carry the call out, then raise a fault: the caller cannot know the outcome."""

        def instead(really: Call) -> Any:
            really()
            raise fault

        self._add(call, instead, times, after)

    def change_response(
        self, call: str, change: Callable[[Any], Any], *, times: float = inf, after: str = ""
    ) -> None:
        """Carry the call out and change what it returns."""
        self._add(call, lambda really: change(really()), times, after)

    def _add(self, call: str, instead: Callable[[Call], Any], times: float, after: str) -> None:
        self._faults.setdefault(call, []).append(Fault(instead, times, after))

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._cluster, name)

        def call(*arguments: Any, **options: Any) -> Any:
            self.calls[name] += 1

            def really() -> Any:
                return method(*arguments, **options)

            for fault in self._faults.get(name, ()):
                if fault.times > 0 and (not fault.after or self.calls[fault.after]):
                    fault.times -= 1
                    return fault.instead(really)
            return really()

        return call if callable(method) else method
