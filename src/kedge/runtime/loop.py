"""The controller's event loop: takes an event, runs its script, executes each effect.

One thread, one queue, one event at a time: the context has no other writer. Adapters may have
threads, which only put events in the queue. The loop is driven step by step, as in the simulator
and in tests, or on its own thread (`thread.LoopThread`).

Failures of a script:

    ControllerMoved       read the claim; resign only if another process has it
    store unavailable     the outcome of a write is unknown, so the context may be wrong: reset it,
    or session expired    and run for the role again once the store is available
    anything else         the caller gets UNKNOWN_SERVER_ERROR at once; the error is logged with
                          its event; the loop continues
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from kedge.brokers.port import Brokers
from kedge.controller import effects as f
from kedge.controller import events as e
from kedge.controller.context import Context
from kedge.controller.controller_election import on_controller_changed
from kedge.controller.dispatch import (
    failure_response,
    fenced_response,
    not_controller_response,
    script_for,
)
from kedge.controller.effects import Script
from kedge.controller.settings import Settings
from kedge.errors import ControllerMoved, SessionExpired, Unavailable
from kedge.model import BrokerId
from kedge.model.gc_pause import freeze_gc, gc_paused
from kedge.runtime.broker_links import Links
from kedge.runtime.effect_executor import EffectExecutor
from kedge.runtime.event_queue import EventQueue, OnceReply, QueuedEvent, Replied, no_reply
from kedge.runtime.metrics import Metrics
from kedge.runtime.state_log import LogEntry, Sink, discard, entries_of, error_message
from kedge.runtime.view import ControllerView, ViewPublisher
from kedge.runtime.watch_events import event_of_watch
from kedge.store.port import Session, Store, StoreEvent, WatchFired

RETRY_MS = 1_000  # between attempts to start again, unless the session reconnects


class Loop:
    """The running controller. All methods but `put` and `on_store_event` are for one thread."""

    def __init__(
        self,
        me: BrokerId,
        store: Store,
        brokers: Brokers,
        *,
        now_ms: Callable[[], int],
        settings: Settings | None = None,
        log: Sink = discard,
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
        self._recover_at_ms = 0
        self._current_event = "nothing"
        self.executor = EffectExecutor(
            me,
            store,
            Links(brokers, self.put),
            now_ms=now_ms,
            draw_bytes=draw_bytes,
            warn=self._warn,
        )
        store.listen(self.on_store_event)

    # ---- the queue: from any thread -----------------------------------------------------------

    def put(self, event: e.Event, replied: Replied | None = None) -> None:
        """Queue an event; `replied` is called once with its response, on the loop's thread.

        Raises Unavailable for a request when too many callers wait already.
        """
        self._queue.put(event, replied)

    def on_store_event(self, event: StoreEvent) -> None:
        """Queue the event of a fired watch, or process a session change."""
        if isinstance(event, WatchFired):
            meaning = event_of_watch(event)
            if meaning is not None:
                self.put(meaning)
            return
        self._session = event.state
        if event.state is Session.EXPIRED:
            self._expire()
        elif event.state is Session.CONNECTED:
            self._recover_at_ms = 0
            self.wake()

    @property
    def view(self) -> ControllerView:
        """The controller's state as a value; from any thread."""
        return self._views.view

    @property
    def queued(self) -> int:
        """The number of queued events; from any thread."""
        return len(self._queue)

    @property
    def connected(self) -> bool:
        """Whether the session with the store is usable; from any thread."""
        return self._session is Session.CONNECTED and not (self._must_renew or self._must_restart)

    def _expire(self) -> None:
        """Drop the queued events, which belong to the old session; their callers get a response."""
        self._must_renew = True
        self._recover_at_ms = 0
        self.preempt(self._queue.drain(instead=e.SessionEnded()))

    def wake(self) -> None:
        """Make `wait` return."""
        self._queue.wake()

    def preempt(self, queued_event: list[QueuedEvent]) -> None:
        """Respond to callers whose events are not processed.

        AlterPartition and AllocateProducerIds get no response: brokers repeat these requests.
        """
        self.metrics.preempted += len(queued_event)
        for event, replied, _ in queued_event:
            silent = isinstance(event, e.IsrChangeRequested | e.ProducerIdsRequested)
            if not silent:
                self._once(replied, type(event).__name__)(not_controller_response(event))

    # ---- one step at a time -------------------------------------------------------------------

    def step(self) -> bool:
        """Process the next event; False if there is none."""
        self._recover()
        due = self.rebalance_due_ms
        if due is not None and self._now_ms() >= due:
            self.rebalance_due_ms = None
            self.put(e.RebalanceDue())
        queued_event = self._queue.take()
        if queued_event is None:
            return False
        self._process(queued_event)
        return True

    def run_until_idle(self) -> int:
        """Process events until the queue is empty; return how many there were."""
        steps = 0
        while self.step():
            steps += 1
        return steps

    def wait(self, timeout_s: float) -> None:
        """Sleep until an event is queued or the time is up."""
        self._queue.wait(timeout_s, unless=lambda: self._must_renew)

    def close(self) -> None:
        """Stop: queued callers get an error response, and the session ends."""
        self.preempt(self._queue.drain())
        self._process(QueuedEvent(e.StopRequested(), None, self._now_ms()))
        self._store.close()

    def _recover(self) -> None:
        """After a lost session or connection: start again as soon as the store is available."""
        must_recover = self._must_renew or self._must_restart
        if not must_recover or self._now_ms() < self._recover_at_ms:
            return
        self._recover_at_ms = self._now_ms() + RETRY_MS
        try:
            if self._must_renew:
                if self.context.active:
                    self._process(QueuedEvent(e.SessionEnded(), None, self._now_ms()))
                self._store.renew_session()
                self._session = Session.CONNECTED
            self._must_renew = self._must_restart = False
            self.put(e.Started())
        except Unavailable as lost:
            self._log_error("recovery", lost)

    def run_script(self, script: Script[Any]) -> Any:
        """Run a script outside any event; errors are raised."""
        return self._run("a script", script, no_reply)

    # ---- running scripts ------------------------------------------------------------------------

    def _process(self, queued_event: QueuedEvent) -> None:
        name = type(queued_event.event).__name__
        began = self._now_ms()
        reply = self._once(queued_event.replied, name)
        failed = True
        try:
            with gc_paused():
                was_active = self.context.active
                reply(self._run(name, script_for(self.context, queued_event.event), reply))
                if self.context.active and not was_active:
                    freeze_gc(len(self.context.assignments))
            failed = False
        except ControllerMoved as moved:
            self._log_error(name, moved)
            reply(fenced_response(queued_event.event))
            self._check_controller(name)
        except Unavailable as lost:
            self._log_error(name, lost)
            reply(not_controller_response(queued_event.event))
            self._reset_after_store_failure(lost)
        except Exception as error:
            reply(failure_response(queued_event.event))
            self._log_error(name, error, event=queued_event.event)
        finally:
            self.metrics.note(
                name, began - queued_event.since_ms, self._now_ms() - began, failed=failed
            )

    def _run(self, name: str, script: Script[Any], reply: Replied) -> Any:
        """Run a script to its end; errors of the ports are thrown at the yield."""
        self._current_event = name
        try:
            effect = next(script)
            while True:
                try:
                    answer = self._execute(name, effect, reply)
                except Exception as error:
                    effect = script.throw(error)
                else:
                    effect = script.send(answer)
        except StopIteration as end:
            return end.value
        finally:
            self._views.publish()

    def _execute(self, name: str, effect: f.Effect, reply: Replied) -> Any:
        match effect:
            case f.RecordPartitions() | f.RecordReplicas() | f.RecordMessage():
                if self._log is not discard:
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
                return self.executor.execute(effect)

    def _check_controller(self, name: str) -> None:
        try:
            self._run(name, on_controller_changed(self.context), no_reply)
        except Unavailable as lost:
            self._reset_after_store_failure(lost)
        except Exception as error:
            self._log_error(name, error)

    def _reset_after_store_failure(self, lost: Unavailable) -> None:
        """Reset the context, since the outcome of the last write is unknown."""
        self.context.reset()
        self._views.publish()
        self.rebalance_due_ms = None
        self.executor.leave_role()
        if isinstance(lost, SessionExpired):
            self._must_renew = True
        else:
            self._must_restart = True
            self._recover_at_ms = self._now_ms() + RETRY_MS

    # ---- logging --------------------------------------------------------------------------------

    def _once(self, replied: Replied | None, name: str) -> Replied:
        return (
            no_reply if replied is None else OnceReply(replied, lambda e: self._log_error(name, e))
        )

    def _warn(self, words: str) -> None:
        self._log(LogEntry(self._current_event, words, "warning"))

    def _log_error(self, name: str, error: Exception, **details: Any) -> None:
        self._log(LogEntry(name, error_message(error), "error", details))
