"""A KRaft controller without I/O: raft below, the metadata machine above, one event at a time.

Goal. One controller that a process with disk and sockets, the lab and a simulation all drive in
the same way. `kedge.quorum` decides what is committed; `kedge.metadata` decides what a request
writes. This package connects the two as Kafka's QuorumController does:

    controller, work = start(config, found, ports, now_ms=…)
    work = controller.handle(event, now_ms=…)
    controller.next_deadline(now_ms)             when the next Tick is due at the latest

Events are those of `kedge.quorum.node` (Tick, Request, Response, Failed, Shutdown, SnapshotTaken)
and `Ask`: a metadata request such as CreateTopics, with a token that comes back in its `Reply`.

A `Work` says what to do, and the order is the safety argument:

    1. writes      in sequence, synced to disk; `fault` set: stop the process after them
    2. sends       requests to other controllers; the outcome comes back as Response or Failed
       answers     to raft requests, by token: some belong to requests of long ago (long polls)
       replies     to asks, by token: a reply with records is here only once these are committed
    3. snapshot    write it, then handle(SnapshotTaken(info)); it may take its time
       registration   send it to the active controller, and forget it: it is repeated
       notices     what an operator wants to read: for a log

How it works.

- The image exists twice (`timeline`): as of the last committed offset, which reads see
  (`Controller.stable`), and with everything that this node has appended since, from which the
  active controller decides. Images are immutable, so losing the lead means dropping the second.
- A node becomes active when raft says that it leads *and* everything before its epoch has been
  replayed. The first decision of a term is Activate; then the periodic tasks start.
- A decision's records are appended and replayed at once; its answer waits until they are
  committed. An answer without records waits for what was appended before it, so that no answer
  shows a state that may yet be lost. A refusal waits for nothing.
- A node that loses the lead answers everything that waits with NOT_CONTROLLER. What it appended may
  be committed all the same: clients ask again, and requests are safe to repeat.
- A snapshot is due after so many bytes of committed records, or after an hour; the log before it is
  dropped when it is larger or older than the retention (`retention`).

Records are opaque to raft. `Ports.form` turns a record into what the log holds: the record itself
in the lab and in simulations (`AsTheyAre`), bytes in the process.

Worked example: the only voter starts on an empty disk, then CreateTopics arrives.

    handle(…)             writes                                replies
    start                 vote, leader, LeaderChange
                          (committed at once: active; the bootstrap records are appended)
    Tick after 25 ms      one batch: 6 bootstrap records
    Ask(7, CreateTopics)  none yet: the append lingers
    Tick after 25 ms      one batch: Topic, Partition …         Reply(7, …)
"""

from kedge.kraft.controller import Controller, start
from kedge.kraft.values import (
    Ask,
    AsTheyAre,
    ControllerConfig,
    Found,
    Notice,
    Ports,
    RecordForm,
    Registration,
    Reply,
    SnapshotDue,
    Work,
)

__all__ = [
    "AsTheyAre",
    "Ask",
    "Controller",
    "ControllerConfig",
    "Found",
    "Notice",
    "Ports",
    "RecordForm",
    "Registration",
    "Reply",
    "SnapshotDue",
    "Work",
    "start",
]
