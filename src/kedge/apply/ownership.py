"""One process at a time acts on the runs of a cluster: leases, and fencing by Kafka.

The owner is the process whose lease was committed last, under the latest epoch of the log's writer.
It renews the lease every `RENEW_S`, with every line that it writes, and before every request that
changes the cluster. A process that wants to act

1. reads the lease. Where another process has it, that process must be known to be dead, or the
   lease must not be renewed for `LEASE_S` by this process's own clock, or `--take-over` be given;
2. becomes the writer of the log, which fences the writer before;
3. reads again, and gives way if yet another process has got the lease in the meantime;
4. commits its own lease.

No clocks of two machines are compared, so it does not matter how far they differ. An owner that is
fenced by a process which then gave way in step 3 finds its own lease to be the last one, becomes
the writer again and goes on; any other fenced owner has lost the runs for good.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from kedge.apply.run_records import LogImage, Owner, OwnerLease, lease_entry
from kedge.apply.this_process import is_known_dead, this_process
from kedge.cluster.log_port import ClusterClock, FencedLog, LogEntry
from kedge.errors import (
    JournalDamaged,
    KedgeError,
    ReassignmentInProgress,
    RunTakenOver,
    Unavailable,
    WriterFenced,
)
from kedge.execution import counted, named

LEASE_S = 10.0
ANSWER_S = 30.0
RENEW_S = 3.0
POLL_S = 0.5
ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Timing:
    """How long leases last, and the clock and the pauses that tell."""

    lease_s: float = LEASE_S
    answer_s: float = ANSWER_S  # requests to a log without a response are repeated for so long
    renew_s: float = RENEW_S
    poll_s: float = POLL_S
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


class Ownership:
    """The log of runs with what was read of it, and whether this process owns the runs."""

    def __init__(
        self, log: FencedLog, on_note: Callable[[str], None], timing: Timing | None = None
    ) -> None:
        self._log, self._on_note = log, on_note
        self._timing = timing or Timing()
        self._lock = threading.RLock()
        self._me: Owner | None = None
        self._lost: RunTakenOver | None = None
        self._ended = threading.Event()
        self._renewing: threading.Thread | None = None
        self._run = ""
        self.image = LogImage()

    @property
    def is_held(self) -> bool:
        """Whether this process owns the runs."""
        return self._me is not None

    @property
    def is_leased(self) -> bool:
        """Whether a process has the lease and renews it, by what was read last."""
        lease = self.image.lease
        if lease is None or lease.released or is_known_dead(lease.owner):
            return False
        return self._is_fresh(lease)

    def _is_fresh(self, lease: OwnerLease) -> bool:
        return self._timing.now() - lease.at < self._timing.lease_s

    def refresh(self) -> LogImage:
        """Read what is new in the log."""
        with self._lock:
            if self._log.exists():
                try:
                    self._add_new()
                except JournalDamaged:
                    if self._me is None:
                        raise
                    self._write_again()
            return self.image

    def _add_new(self) -> None:
        skipped = self.image.add(self._log.read(self.image.position))
        if skipped:
            self._on_note(
                f"{self._log.name}: {counted(skipped, 'record')} cannot be read and "
                f"{'is' if len(skipped) == 1 else 'are'} skipped (offset {named(skipped)})"
            )

    # ---- becoming the owner ---------------------------------------------------------------------

    def acquire(self, *, take_over: bool, patient: bool) -> None:
        """Become the owner.

        Raises:
            ReassignmentInProgress: another process is.
        """
        me = this_process()
        timing = self._timing
        give_up = timing.clock() + (timing.answer_s if patient else 0.0)
        while True:
            try:
                return self._acquire(me, take_over=take_over, patient=patient)
            except JournalDamaged:
                raise
            except Unavailable:
                # A topic that was just created is not known to all brokers, and has no leader yet.
                if timing.clock() >= give_up:
                    raise
                timing.sleep(timing.poll_s)

    def _acquire(self, me: Owner, *, take_over: bool, patient: bool) -> None:
        for problem in self._log.create():
            self._on_note(problem)
        self.refresh()
        for _ in range(ATTEMPTS):
            if not take_over:
                self._await_end_of_lease(me, patient)
            if self._claim(me, take_over=take_over):
                self._me, self._lost = me, None
                self._start_renewing()
                return
        raise self._in_progress()

    def _claim(self, me: Owner, *, take_over: bool) -> bool:
        """Fence the owner before and commit a lease; False where another process was faster."""
        with self._lock:
            before = self.image.lease
            try:
                self._log.become_writer()
                self._add_new()
                another = self.image.owner not in (None, me)
                if self.image.lease != before and another and not take_over:
                    raise self._in_progress()
                self._commit([], me)
            except WriterFenced:
                self._add_new()
                return False
            return True

    def _await_end_of_lease(self, me: Owner, patient: bool) -> None:
        """Return when no other process has a lease that is being renewed."""
        lease = self.image.lease
        if lease is None or lease.released or lease.owner == me or is_known_dead(lease.owner):
            return
        timing = self._timing
        if not patient and self._is_fresh(lease):
            raise self._in_progress()
        deadline = timing.clock() + timing.lease_s
        noted = False
        give_up = timing.clock() + 6 * timing.lease_s
        while timing.clock() < deadline:
            timing.sleep(timing.poll_s)
            try:
                self.refresh()
            except Unavailable:
                # The owner may live and be unable to renew its lease: count from the next read on.
                if timing.clock() > give_up:
                    raise
                deadline = timing.clock() + timing.lease_s
            if self.image.owner is None:
                return
            if self.image.lease != lease:
                raise self._in_progress()
            if not noted and timing.clock() > deadline - timing.lease_s / 2:
                noted = True
                self._on_note(f"{lease.owner} does not renew its lease; waiting for its end")

    def _in_progress(self) -> ReassignmentInProgress:
        return ReassignmentInProgress(
            f"{self.image.owner or 'Another process'} is working on a run of this cluster",
            hint="kedge status shows how far it is; --take-over replaces that process",
        )

    # ---- acting as the owner --------------------------------------------------------------------

    def append(self, entries: Sequence[LogEntry], run: str = "") -> None:
        """Commit entries and renew the lease; with no entries, only that.

        Raises:
            RunTakenOver: another process has replaced this one; nothing was written.
        """
        with self._lock:
            self._run = run or self._run
            self.must_not_be_lost()
            assert self._me is not None, "only the owner writes"
            for _ in range(ATTEMPTS):
                try:
                    return self._commit(entries, self._me)
                except WriterFenced:
                    self._regain()
                except JournalDamaged:
                    self._write_again()
            raise self._lose()

    def _commit(self, entries: Sequence[LogEntry], owner: Owner, *, released: bool = False) -> None:
        whole = [
            *entries,
            lease_entry(owner, released=released),
        ]  # the lease is last: its offset is returned
        last = self._log.append(whole)
        self.image.add_own(whole, last, self._timing.now())

    def _regain(self) -> None:
        """Become the writer again, unless another process has committed a lease."""
        self._add_new()
        self._must_be_mine()
        with suppress(WriterFenced):  # the next attempt to write finds out
            self._log.become_writer()
        self._add_new()
        self._must_be_mine()

    def _write_again(self) -> None:
        """The log was deleted: write it anew, unless another process has begun to.

        Which process may write is not in the log: the writer of before is fenced all the same.
        """
        kept = self.image.entries()
        self._log.create()
        self._log.become_writer()
        self.image = LogImage()
        self._add_new()
        if self.image.lease is not None:
            self._must_be_mine()
        assert self._me is not None, "only the owner writes"
        self._commit(kept, self._me)
        self._on_note(f"{self._log.name} was deleted; this process has written its runs again")

    def _must_be_mine(self) -> None:
        owner = self.image.owner
        if owner is None or self._me is None or owner.nonce != self._me.nonce:
            raise self._lose()

    def _lose(self) -> RunTakenOver:
        what = f"Run {self._run} was" if self._run else "The runs of this cluster were"
        lease = self.image.lease
        by = f"by {lease.owner}" if lease and lease.owner != self._me else "by another process"
        self._lost = RunTakenOver(
            f"{what} taken over {by}",
            hint="this process has stopped and changes nothing further; kedge status shows the run",
        )
        return self._lost

    def must_not_be_lost(self) -> None:
        """Raise RunTakenOver if this process is known to have been replaced."""
        if self._lost is not None:
            raise self._lost

    def confirm(self) -> None:
        """Raise RunTakenOver unless this process still owns the runs: a transaction tells."""
        self.append([])

    # ---- renewing -------------------------------------------------------------------------------

    def _start_renewing(self) -> None:
        self._ended = threading.Event()
        self._renewing = threading.Thread(
            target=self._renew, args=(self._ended,), name="run-lease", daemon=True
        )
        self._renewing.start()

    def _renew(self, ended: threading.Event) -> None:
        while not ended.wait(self._timing.renew_s) and self._lost is None:
            # A log that does not answer now may do so at the next turn; a loss is kept in `_lost`.
            try:
                self.confirm()
            except KedgeError:
                continue
            except Exception as fault:  # a lease that is no longer renewed must not go unnoticed
                self._on_note(f"the lease on the runs was not renewed: {fault!r}")

    def release(self) -> None:
        """Give the runs up; an owner that has lost them has nothing to give."""
        self._ended.set()
        if self._renewing is not None:
            self._renewing.join()
        with self._lock:
            try:
                if self._lost is None and self._me is not None:
                    self._commit([], self._me, released=True)
            except KedgeError:
                self._on_note(f"the lease on the runs ends by itself in {self._timing.lease_s:g} s")
            finally:
                self._me = None

    def send(self, entry: LogEntry) -> None:
        """Write an entry that needs no owner."""
        with self._lock:
            offset = self._log.append_unfenced(entry)
            self.image.add_own([entry], offset, self._timing.now())

    def clock(self) -> ClusterClock | None:
        """The clock of the cluster, where its time does not pass as ours does."""
        with self._lock:
            return self._log.clock()

    def close(self) -> None:
        """Close the log."""
        self._log.close()
