"""The one loop: take an event, run its script, carry out each effect, hand back the answer.

One thread, one queue, one event at a time: the context has no other writer. Adapters may own
threads, and all they do is put events in the queue. The loop can be driven step by step, which is
how the simulator and the tests run it, or on a thread of its own (`thread.LoopThread`).

What goes wrong with a script:

    ControllerMoved       look who holds the role; resign only if it is somebody else
    store unavailable     the outcome of a write is unknown, so what we know may be wrong: forget
    or session expired    everything, and run for the role again once the store is back
    anything else         the caller is told UNKNOWN_SERVER_ERROR at once; the failure is noted with
                          its event; the next event is taken
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from kedge.brokers.port import Brokers
from kedge.controller import effects as f
from kedge.controller import events as e
from kedge.controller.context import Context
from kedge.controller.dispatch import (
    refusal,
    script_for,
    told_when_failed,
    told_when_fenced,
)
from kedge.controller.effects import Script
from kedge.controller.election import on_controller_changed
from kedge.controller.settings import Settings
from kedge.errors import ControllerMoved, SessionExpired, Unavailable
from kedge.model import BrokerId
from kedge.model.gc_pause import freeze_gc, gc_paused
from kedge.runtime.carrier import Carrier
from kedge.runtime.links import Links
from kedge.runtime.metrics import Metrics
from kedge.runtime.notices import event_of
from kedge.runtime.queue import EventQueue, Waiting
from kedge.runtime.replies import OnceReply, Replied, nobody
from kedge.runtime.state_log import LogEntry, Sink, entries_of, nowhere, words_of
from kedge.runtime.view import ControllerView, ViewPublisher
from kedge.store.port import Session, Store, StoreEvent, WatchFired

RETRY_MS = 1_000  # between attempts to begin anew, unless the store says that it is back


class Loop:
    """The controller, running. Everything but `put` and the store's notices is for one thread."""

    def __init__(
        self,
        me: BrokerId,
        store: Store,
        brokers: Brokers,
        *,
        now_ms: Callable[[], int],
        settings: Settings | None = None,
        log: Sink = nowhere,
        draw_bytes: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self.context = Context(me, settings or Settings())
        self.metrics = Metrics()
        self.rebalance_due_ms: int | None = None
        self._views = ViewPublisher(self.context)
        self._store = store
        self._now_ms = now_ms
        self._log = log
        self._queue = EventQueue(now_ms)
        self._session = Session.CONNECTED
        self._must_renew = False
        self._must_restart = False
        self._mend_at_ms = 0
        self._at_work_on = "nothing"
        self.carrier = Carrier(
            me,
            store,
            Links(brokers, self.put),
            now_ms=now_ms,
            draw_bytes=draw_bytes,
            complain=self._complain,
        )
        store.listen(self.hear)

    # ---- the queue: from any thread -----------------------------------------------------------

    def put(self, event: e.Event, replied: Replied | None = None) -> None:
        """Queue an event; `replied` is called once with its answer, on the loop's thread.

        A request is refused with Unavailable when too many callers wait already.
        """
        self._queue.put(event, replied)

    def hear(self, notice: StoreEvent) -> None:
        """Take a notice of the store."""
        if isinstance(notice, WatchFired):
            event = event_of(notice)
            if event is not None:
                self.put(event)
            return
        self._session = notice.state
        if notice.state is Session.EXPIRED:
            self._expire()
        elif notice.state is Session.CONNECTED:
            self._mend_at_ms = 0
            self.wake()

    @property
    def view(self) -> ControllerView:
        """What the controller knows, as a value; from any thread."""
        return self._views.view

    @property
    def queued(self) -> int:
        """How many events wait; from any thread."""
        return len(self._queue)

    @property
    def connected(self) -> bool:
        """Whether the session with the store is usable; from any thread."""
        return self._session is Session.CONNECTED and not (self._must_renew or self._must_restart)

    def _expire(self) -> None:
        """Whatever waits was meant for a session that is gone: it is answered, not processed."""
        self._must_renew = True
        self._mend_at_ms = 0
        self.preempt(self._queue.drain(instead=e.SessionEnded()))

    def wake(self) -> None:
        """Let `wait` return."""
        self._queue.wake()

    def preempt(self, waiting: list[Waiting]) -> None:
        """Answer callers whose events will not be processed.

        Kafka does not answer AlterPartition and AllocateProducerIds: the broker waits for
        `controller.socket.timeout.ms` (30 s), and a leader sends no other ISR change until then.
        After NOT_CONTROLLER it looks up the controller and sends the request again at once.
        """
        self.metrics.preempted += len(waiting)
        for event, replied, _ in waiting:
            self._once(replied, type(event).__name__)(refusal(event))

    # ---- one step at a time -------------------------------------------------------------------

    def step(self) -> bool:
        """Process the next event; False if there was nothing to do."""
        self._mend()
        due = self.rebalance_due_ms
        if due is not None and self._now_ms() >= due:
            self.rebalance_due_ms = None
            self.put(e.RebalanceDue())
        waiting = self._queue.take()
        if waiting is None:
            return False
        self._process(waiting)
        return True

    def run_until_idle(self) -> int:
        """Process events until none waits; how many there were."""
        steps = 0
        while self.step():
            steps += 1
        return steps

    def wait(self, timeout_s: float) -> None:
        """Sleep until an event waits or the time is up."""
        self._queue.wait(timeout_s, unless=lambda: self._must_renew)

    def close(self) -> None:
        """Stop being a controller: callers that wait are refused, the session ends."""
        self.preempt(self._queue.drain())
        self._process(Waiting(e.StopRequested(), None, self._now_ms()))
        self._store.close()

    def _mend(self) -> None:
        """After a lost session or connection: begin anew as soon as the store lets us."""
        broken = self._must_renew or self._must_restart
        if not broken or self._now_ms() < self._mend_at_ms:
            return
        self._mend_at_ms = self._now_ms() + RETRY_MS
        try:
            if self._must_renew:
                if self.context.active:
                    self._process(Waiting(e.SessionEnded(), None, self._now_ms()))
                self._store.renew_session()
                self._session = Session.CONNECTED
            self._must_renew = self._must_restart = False
            self.put(e.Started())
        except Unavailable as lost:
            self._note("mending", lost)

    def execute(self, script: Script[Any]) -> Any:
        """Run a script by itself, outside any event; what goes wrong is raised."""
        return self._run("a script", script, nobody)

    # ---- running scripts ------------------------------------------------------------------------

    def _process(self, waiting: Waiting) -> None:
        name = type(waiting.event).__name__
        began = self._now_ms()
        reply = self._once(waiting.replied, name)
        failed = True
        try:
            with gc_paused():
                was_active = self.context.active
                reply(self._run(name, script_for(self.context, waiting.event), reply))
                if self.context.active and not was_active:
                    freeze_gc(len(self.context.assignments))
            failed = False
        except ControllerMoved as moved:
            self._note(name, moved)
            reply(told_when_fenced(waiting.event))
            self._look_who_leads(name)
        except Unavailable as lost:
            self._note(name, lost)
            reply(refusal(waiting.event))
            self._lose_footing(lost)
        except Exception as error:
            reply(told_when_failed(waiting.event))
            self._note(name, error, event=waiting.event)
        finally:
            self.metrics.note(name, began - waiting.since_ms, self._now_ms() - began, failed=failed)

    def _run(self, name: str, script: Script[Any], reply: Replied) -> Any:
        """Run a script to its end; what the ports raise is thrown in where it happened."""
        self._at_work_on = name
        try:
            effect = next(script)
            while True:
                try:
                    answer = self._carry_out(name, effect, reply)
                except Exception as error:
                    effect = script.throw(error)
                else:
                    effect = script.send(answer)
        except StopIteration as end:
            return end.value
        finally:
            self._views.publish()

    def _carry_out(self, name: str, effect: f.Effect, reply: Replied) -> Any:
        match effect:
            case f.RecordPartitions() | f.RecordReplicas() | f.RecordWords():
                if self._log is not nowhere:
                    for entry in entries_of(name, effect):
                        self._log(entry)
            case f.Enqueue(event):
                self.put(event)
            case f.Reply(answer):
                self._views.publish()
                reply(answer)
            case f.ScheduleRebalance(seconds):
                self.rebalance_due_ms = self._now_ms() + seconds * 1000
            case _:
                if isinstance(effect, f.Send):
                    self._views.publish()
                elif isinstance(effect, f.LeaveRole):
                    self.rebalance_due_ms = None
                return self.carrier.carry_out(effect)

    def _look_who_leads(self, name: str) -> None:
        try:
            self._run(name, on_controller_changed(self.context), nobody)
        except Unavailable as lost:
            self._lose_footing(lost)
        except Exception as error:
            self._note(name, error)

    def _lose_footing(self, lost: Unavailable) -> None:
        """We do not know what we wrote, so we do not know anything."""
        self.context.forget()
        self._views.publish()
        self.rebalance_due_ms = None
        self.carrier.leave_role()
        if isinstance(lost, SessionExpired):
            self._must_renew = True
        else:
            self._must_restart = True
            self._mend_at_ms = self._now_ms() + RETRY_MS

    # ---- notes ----------------------------------------------------------------------------------

    def _once(self, replied: Replied | None, name: str) -> Replied:
        return nobody if replied is None else OnceReply(replied, lambda e: self._note(name, e))

    def _complain(self, words: str) -> None:
        self._log(LogEntry(self._at_work_on, words, "warning"))

    def _note(self, name: str, error: Exception, **details: Any) -> None:
        self._log(LogEntry(name, words_of(error), "error", details))
