"""The one loop: take an event, run its script, carry out each effect, hand back the answer.

One thread, one queue, one event at a time: the context has no other writer. Adapters may own
threads, and all they do is put events in the queue. The loop can be driven step by step, which is
how the simulator and the tests run it, or on a thread of its own (`thread.LoopThread`).

What goes wrong with a script:

    ControllerMoved       look who holds the role; resign only if it is somebody else
    store unavailable     the outcome of a write is unknown, so what we know may be wrong: forget
    or session expired    everything, and run for the role again once the store is back
    anything else         noted; the next event is taken
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Condition
from typing import Any, NamedTuple

from kedge.brokers.port import Brokers
from kedge.controller import effects as f
from kedge.controller import events as e
from kedge.controller.context import Context
from kedge.controller.dispatch import refusal, script_for, told_when_fenced
from kedge.controller.effects import Script
from kedge.controller.election import on_controller_changed
from kedge.controller.settings import Settings
from kedge.errors import ControllerMoved, KedgeError, SessionExpired, Unavailable
from kedge.model import BrokerId
from kedge.runtime.carrier import Carrier, new_topic_id
from kedge.runtime.collector import collector_paused, keep_for_good
from kedge.runtime.links import Links
from kedge.runtime.metrics import Metrics
from kedge.runtime.notices import LOOK_AGAIN, event_of
from kedge.runtime.state_log import LogEntry, Sink, entries_of, nowhere
from kedge.store.port import Notice, Session, Store, WatchFired

Replied = Callable[[Any], None]
RETRY_MS = 1_000  # between attempts to begin anew, unless the store says that it is back
REQUESTS_MAX = 10_000  # callers that may wait at the same time

_REQUESTS = (
    e.ElectionRequested,
    e.ReassignmentRequested,
    e.ReassignmentsListed,
    e.IsrChangeRequested,
    e.ShutdownRequested,
    e.ProducerIdsRequested,
)


class Waiting(NamedTuple):
    """An event in the queue, who asked, and since when it waits."""

    event: e.Event
    replied: Replied | None
    since_ms: int


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
        new_topic_id: Callable[[], str] = new_topic_id,
    ) -> None:
        self.context = Context(me, settings or Settings())
        self.metrics = Metrics()
        self.rebalance_due_ms: int | None = None
        self._store = store
        self._now_ms = now_ms
        self._log = log
        self._queue: deque[Waiting] = deque()
        self._looking: set[e.Event] = set()  # "look again" events that wait
        self._requests = 0
        self._changed = Condition()
        self._must_renew = False
        self._must_restart = False
        self._mend_at_ms = 0
        links = Links(brokers, self.put)
        self.carrier = Carrier(me, store, links, now_ms=now_ms, new_topic_id=new_topic_id)
        store.listen(self.hear)

    # ---- the queue: from any thread -----------------------------------------------------------

    def put(self, event: e.Event, replied: Replied | None = None) -> None:
        """Queue an event; `replied` is called once with its answer, on the loop's thread.

        A request is refused with Unavailable when too many callers wait already.
        """
        with self._changed:
            if isinstance(event, LOOK_AGAIN) and replied is None:
                if event in self._looking:
                    return
                self._looking.add(event)
            elif isinstance(event, _REQUESTS):
                if self._requests >= REQUESTS_MAX:
                    raise Unavailable("the controller is busy", hint="ask again later")
                self._requests += 1
            self._queue.append(Waiting(event, replied, self._now_ms()))
            self._changed.notify_all()

    def hear(self, notice: Notice) -> None:
        """Take a notice of the store."""
        if isinstance(notice, WatchFired):
            event = event_of(notice)
            if event is not None:
                self.put(event)
        elif notice.state is Session.EXPIRED:
            self._expire()
        elif notice.state is Session.CONNECTED:
            self._mend_at_ms = 0
            self.wake()

    def _expire(self) -> None:
        """Whatever waits was meant for a session that is gone: it is answered, not processed."""
        with self._changed:
            self._must_renew = True
            self._mend_at_ms = 0
            preempted = self._drain()
            self._queue.append(Waiting(e.SessionEnded(), None, self._now_ms()))
            self._changed.notify_all()
        self.preempt(preempted)

    def wake(self) -> None:
        """Let `wait` return."""
        with self._changed:
            self._changed.notify_all()

    def _drain(self) -> list[Waiting]:
        waiting = list(self._queue)
        self._queue.clear()
        self._looking.clear()
        self._requests = 0
        return waiting

    def preempt(self, waiting: list[Waiting]) -> None:
        """Answer callers whose events will not be processed. Leaders and those who want producer
        ids get no answer: they ask again by themselves."""
        self.metrics.preempted += len(waiting)
        for event, replied, _ in waiting:
            silent = isinstance(event, e.IsrChangeRequested | e.ProducerIdsRequested)
            if replied is not None and not silent:
                replied(refusal(event))

    # ---- one step at a time -------------------------------------------------------------------

    def step(self) -> bool:
        """Process the next event; False if there was nothing to do."""
        self._mend()
        due = self.rebalance_due_ms
        if due is not None and self._now_ms() >= due:
            self.rebalance_due_ms = None
            self.put(e.RebalanceDue())
        waiting = self._take()
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
        with self._changed:
            if not self._queue and not self._must_renew:
                self._changed.wait(timeout_s)

    def close(self) -> None:
        """Stop being a controller: callers that wait are refused, the session ends."""
        with self._changed:
            preempted = self._drain()
        self.preempt(preempted)
        self._process(Waiting(e.StopRequested(), None, self._now_ms()))
        self._store.close()

    def _take(self) -> Waiting | None:
        with self._changed:
            if not self._queue:
                return None
            waiting = self._queue.popleft()
            if isinstance(waiting.event, LOOK_AGAIN):
                # from here on a new notice is news again
                self._looking.discard(waiting.event)
            self._requests -= isinstance(waiting.event, _REQUESTS)
            return waiting

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
            self._must_renew = self._must_restart = False
            self.put(e.Started())
        except Unavailable as lost:
            self._note("mending", lost)

    def execute(self, script: Script[Any]) -> Any:
        """Run a script by itself, outside any event; what goes wrong is raised."""
        return self._run("a script", script, _OnceReply(None))

    # ---- running scripts ------------------------------------------------------------------------

    def _process(self, waiting: Waiting) -> None:
        name = type(waiting.event).__name__
        began = self._now_ms()
        reply = _OnceReply(waiting.replied)
        failed = True
        try:
            with collector_paused():
                was_active = self.context.active
                reply(self._run(name, script_for(self.context, waiting.event), reply))
                if self.context.active and not was_active:
                    keep_for_good(len(self.context.assignments))
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
            self._note(name, error)
        finally:
            self.metrics.note(name, began - waiting.since_ms, self._now_ms() - began, failed=failed)

    def _run(self, name: str, script: Script[Any], reply: Replied) -> Any:
        """Run a script to its end; refusals of the ports are thrown in where they happened."""
        try:
            effect = next(script)
            while True:
                try:
                    answer = self._carry_out(name, effect, reply)
                except KedgeError as error:
                    effect = script.throw(error)
                else:
                    effect = script.send(answer)
        except StopIteration as end:
            return end.value

    def _carry_out(self, name: str, effect: f.Effect, reply: Replied) -> Any:
        match effect:
            case f.RecordPartitions() | f.RecordReplicas() | f.RecordWords():
                if self._log is not nowhere:
                    for entry in entries_of(name, effect):
                        self._log(entry)
            case f.Enqueue(event):
                self.put(event)
            case f.Reply(answer):
                reply(answer)
            case f.ScheduleRebalance(seconds):
                self.rebalance_due_ms = self._now_ms() + seconds * 1000
            case _:
                if isinstance(effect, f.LeaveRole):
                    self.rebalance_due_ms = None
                return self.carrier.carry_out(effect)

    def _look_who_leads(self, name: str) -> None:
        try:
            self._run(name, on_controller_changed(self.context), _OnceReply(None))
        except Unavailable as lost:
            self._lose_footing(lost)

    def _lose_footing(self, lost: Unavailable) -> None:
        """We do not know what we wrote, so we do not know anything."""
        self.context.forget()
        self.rebalance_due_ms = None
        self.carrier.leave_role()
        if isinstance(lost, SessionExpired):
            self._must_renew = True
        else:
            self._must_restart = True
            self._mend_at_ms = self._now_ms() + RETRY_MS

    def _note(self, name: str, error: Exception) -> None:
        self._log(LogEntry(name, str(error) or type(error).__name__, "error"))


class _OnceReply:
    """The caller's callback, called at most once."""

    def __init__(self, replied: Replied | None) -> None:
        self._replied = replied

    def __call__(self, answer: Any) -> None:
        replied, self._replied = self._replied, None
        if replied is not None:
            replied(answer)
