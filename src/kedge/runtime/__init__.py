"""Carrying out: the one loop, and how each effect becomes calls of the ports.

    loop          one event at a time, what happens when something goes wrong
    queue, replies        who waits for what; each caller is answered once
    thread        the loop on a thread of its own
    carrier       effect → store and broker calls → answer
    fenced        writes that depend on the controller epoch
    role, topics, leaderships, orders, configs    what the effects mean in the store's tree
    links         one link per broker; answers become events
    notices       which watched node means which event
    metrics, state_log    what the loop did, for people
    view          what the controller knows, for other threads

    loop = Loop(BrokerId(100), store, brokers, now_ms=clock, settings=Settings())
    loop.put(Started())
    loop.run_until_idle()                                   # step by step, or …
    with LoopThread(loop) as controller:                    # … on a thread
        controller.put(ReassignmentsListed(), print)

The context has one writer and one reader, the thread that calls `step`. Other threads `put` events
and read the `view`.
"""

from kedge.runtime.carrier import Carrier
from kedge.runtime.layout import prepare
from kedge.runtime.loop import Loop
from kedge.runtime.metrics import Metrics, Timing
from kedge.runtime.state_log import LogEntry, Sink
from kedge.runtime.thread import LoopThread
from kedge.runtime.view import ControllerView

__all__ = [
    "Carrier",
    "ControllerView",
    "LogEntry",
    "Loop",
    "LoopThread",
    "Metrics",
    "Sink",
    "Timing",
    "prepare",
]
