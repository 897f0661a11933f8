"""Runs the controller: one event loop that executes the effects of scripts on the ports.

    loop                  processes one event at a time, and handles failures
    event_queue           the queue of events; each caller gets one response
    thread                the loop on its own thread
    effect_executor       effect → store and broker calls → result
    fenced_store          writes that are conditional on the controller epoch
    controller_role, topic_records, leadership_nodes, admin_nodes, config_nodes
                          the effects on the nodes of the store
    broker_links          one link per broker; responses become events
    watch_events          maps fired watches to events
    metrics, state_log    counters, and the state-change log
    view                  the controller's state as a value, for other threads

    loop = Loop(BrokerId(100), store, brokers, now_ms=clock, settings=Settings())
    loop.put(Started())
    loop.run_until_idle()                                   # step by step, or …
    with LoopThread(loop) as controller:                    # … on a thread
        controller.put(ReassignmentsListed(), print)

The context has one writer and one reader, the thread that calls `step`. Other threads `put` events
and read the `view`.
"""

from kedge.runtime.controller_role import create_persistent_nodes
from kedge.runtime.effect_executor import EffectExecutor
from kedge.runtime.loop import Loop
from kedge.runtime.metrics import Metrics, Timing
from kedge.runtime.state_log import LogEntry, Sink
from kedge.runtime.thread import LoopThread
from kedge.runtime.view import ControllerView

__all__ = [
    "ControllerView",
    "EffectExecutor",
    "LogEntry",
    "Loop",
    "LoopThread",
    "Metrics",
    "Sink",
    "Timing",
    "create_persistent_nodes",
]
