"""Keeps processes on other machines out while runs are kept in a directory.

The lease is the one that runs in the cluster have (`ownership`), in the same log, so that a run of
either kind keeps out all others. The log is created by the first process that acts, as it is for
runs in the cluster: otherwise two that start at once would both find no lease. What differs is what
happens when the log cannot be used: a run in a directory goes on without the lease, says so, and
has it again as soon as the log answers. A process that was replaced stops in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import cast

from kedge.apply.guarded_cluster import GuardedCluster
from kedge.apply.ownership import Ownership, Timing
from kedge.apply.run_records import OwnerLease
from kedge.cluster.log_port import ClusterClock, FencedLog
from kedge.cluster.port import Cluster
from kedge.errors import KedgeError, Unauthorised, Unavailable, UnsupportedByCluster

_NO_LEASE = (Unauthorised, UnsupportedByCluster, Unavailable)


class DirectoryLease:
    """The lease of a process whose runs are in a directory."""

    def __init__(
        self,
        log: FencedLog,
        *,
        take_over: bool = False,
        on_note: Callable[[str], None],
        timing: Timing | None = None,
    ) -> None:
        self._log, self._take_over = log, take_over
        self._on_note = on_note
        self._ownership = Ownership(log, on_note, timing)
        self._given_up = False
        self._last_renewed: OwnerLease | None = None  # when it was given up

    @contextmanager
    def held(self, *, patient: bool) -> Generator[None]:
        """No process of another machine acts on the cluster within the block, where possible.

        A caller that is not `patient` only cleans up after others: it creates no log.
        """
        self._given_up = False
        try:
            if patient or self._log.exists():
                self._ownership.acquire(take_over=self._take_over, patient=patient)
        except _NO_LEASE as fault:
            self._give_up(fault)
        try:
            yield
        finally:
            if self._ownership.is_held:
                self._ownership.release()

    def guarded(self, cluster: Cluster) -> Cluster:
        """The cluster, with a check of the lease before every change."""
        return cast("Cluster", GuardedCluster(cluster, self))

    @property
    def is_held(self) -> bool:
        """Whether there is a lease to confirm."""
        renewed = self._ownership.image.lease != self._last_renewed
        return self._ownership.is_held and (renewed or not self._given_up)

    def must_not_be_lost(self) -> None:
        """Raise RunTakenOver if this process is known to have been replaced."""
        self._ownership.must_not_be_lost()

    def confirm(self) -> None:
        """Raise RunTakenOver if this process was replaced; without the log, go on without it."""
        try:
            self._ownership.confirm()
        except _NO_LEASE as fault:
            self._give_up(fault)
            return
        if self._given_up:
            self._given_up = False
            self._on_note("the lease in the cluster is renewed again")

    def has_process(self) -> bool | None:
        """Whether a process has the lease; None where the log cannot be read or does not exist."""
        try:
            if not self._log.exists():
                return None
            self._ownership.refresh()
        except _NO_LEASE:
            return None
        return self._ownership.is_leased

    def clock(self) -> ClusterClock | None:
        """The clock of the cluster, where its time does not pass as ours does."""
        return self._ownership.clock()

    def close(self) -> None:
        """Close the connections to the log."""
        self._ownership.close()

    def _give_up(self, fault: KedgeError) -> None:
        self._given_up = True
        self._last_renewed = self._ownership.image.lease
        self._on_note(
            f"no lease in the cluster ({fault}): do not start runs on other machines meanwhile"
        )
