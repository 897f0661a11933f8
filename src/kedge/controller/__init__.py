"""The controller: who leads each partition, who holds its replicas, and who has been told.

**Goal.** Decide exactly as Kafka's controller in ZooKeeper mode decides (3.9, and older protocol
versions by `Settings.ibp`), so that real brokers obey and a real controller can take over in the
middle of anything.

**The idea.** Kafka's controller takes one event at a time and finishes it before the next. So an
event's handler is a *script*: a generator that yields what is to be done (`effects`: plain values)
and is handed the answers at the `yield`. It reads from top to bottom like the protocol that it
implements. It does no I/O, has no clock and no luck of its own: `runtime/` carries the effects
out, on the memory store or on ZooKeeper, with recorded, simulated or real brokers.

    event ─→ dispatch.script_for ─→ script ── yields ──→ effect ─→ carried out
                                      ↑                               │
                                      └────────── answer ─────────────┘

**The rules.**

1. The durable write comes first. The context and the brokers learn only what the store confirmed.
2. Every `yield` is a place where the process may die. Whoever takes over reads the store, and what
   a script had not yet written has not happened.
3. Being replaced is an exception thrown in at the `yield` (`ControllerMoved`); a write that lost
   against another is an answer, and the script reads and decides again.
4. Effects are for whole batches: ten thousand partitions are one pipelined round.
5. Order is decided, never inherited from a set: partitions and brokers are sorted first.
6. An illegal move is noted and left undone; it never stops the others.

**A worked example.** Broker 1 dies; it led t-0 with replicas 1, 2, 3, all in sync, epoch 4.

    script                       effect                                   answer
    on_brokers_changed           ReadBrokers()                            {2, 3}
      on_replicas_lost           (t-0 → OfflinePartition, in memory)
        try_online               ReadLeaderships([t-0])                   leader 1, ISR 1,2,3, e4
          elect_offline          (the first live replica in sync: 2)
                                 WriteLeaderships({t-0: 2, ISR 2,3, e5})  stored, version 9
                                 Send(LeaderAndIsr to 2, 3; UpdateMetadata to 2, 3)
        move_replicas            ReadLeaderships([t-0])                   1 is not in the ISR: no
                                 Send(LeaderAndIsr e5 to 2, 3; …)         write, said once more

**Where to read on.**

    states        the states and the tables of legal moves
    elections     the four strategies, as pure functions
    context       what the controller knows; the counters
    settings      what operators choose; what the protocol version brings
    events, effects      what has happened; what is to be done
    requests      collecting what brokers are told, and in which order it is said
    partitions, replicas the two state machines
    election, failover   winning the role, and putting things right with it
    brokers, topics, configs, isr, log_dirs, preferred, shutdown, deletion, reassignment
                  one family of events each
    dispatch      which event runs which script

Sources: Kafka's documentation, and KIP-455 (reassignment), KIP-497 (AlterPartition), KIP-380
(broker epochs), KIP-460 (elections), KIP-704 (recovery after unclean elections), KIP-516 (topic
ids), KIP-584 (features), KIP-730 (producer ids), KIP-841 (only live brokers join an ISR).
"""

from kedge.controller.context import Context, Registration
from kedge.controller.dispatch import not_controller_response, script_for
from kedge.controller.effects import Effect, Script
from kedge.controller.events import Event
from kedge.controller.settings import Ibp, Settings
from kedge.controller.states import (
    PARTITION_MAY_COME_FROM,
    REPLICA_MAY_COME_FROM,
    PartitionState,
    ReplicaState,
)

__all__ = [
    "PARTITION_MAY_COME_FROM",
    "REPLICA_MAY_COME_FROM",
    "Context",
    "Effect",
    "Event",
    "Ibp",
    "PartitionState",
    "Registration",
    "ReplicaState",
    "Script",
    "Settings",
    "not_controller_response",
    "script_for",
]
