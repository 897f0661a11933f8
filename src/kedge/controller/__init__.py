"""The controller: state machines that decide leaders, replicas and requests to brokers.

**Goal.** Decide exactly as Kafka's controller in ZooKeeper mode decides (3.9, and older protocol
versions by `Settings.ibp`), so that real brokers follow it and a Kafka controller can take over at
any point.

**Design.** Kafka's controller processes one event at a time. So the handler of an event is a
*script*: a generator that yields effects (plain values, `effects`) and receives their results at
the `yield`. It reads from top to bottom like the protocol that it implements. It does no I/O and
has no clock and no randomness: `runtime/` executes the effects, on the memory store or on
ZooKeeper, with recorded, simulated or real brokers.

    event ─→ dispatch.script_for ─→ script ── yields ──→ effect ─→ executed
                                      ↑                               │
                                      └────────── result ─────────────┘

**Rules.**

1. The durable write comes first. The context and the brokers get only what the store confirmed.
2. The process may die at every `yield`. The next controller reads the store, and what a script had
   not yet written has not happened.
3. Losing the role is an exception thrown at the `yield` (`ControllerMoved`); a write that lost
   against another is a result, and the script reads and decides again.
4. Effects are for whole batches: ten thousand partitions are one pipelined round trip.
5. Sequences are explicit, never that of a set: partitions and brokers are sorted first.
6. An illegal state change is logged and skipped; the others in the batch proceed.

**Worked example.** Broker 1 fails; it led t-0 with replicas 1, 2, 3, all in sync, epoch 4.

    script                       effect                                   result
    on_brokers_changed           ReadBrokers()                            {2, 3}
      on_replicas_lost           (t-0 → OfflinePartition, in memory)
        try_online               ReadLeaderships([t-0])                   leader 1, ISR 1,2,3, e4
          elect_offline          (the first live replica in sync: 2)
                                 WriteLeaderships({t-0: 2, ISR 2,3, e5})  stored, version 9
                                 Send(LeaderAndIsr to 2, 3; UpdateMetadata to 2, 3)
        move_replicas            ReadLeaderships([t-0])                   1 is not in the ISR: no
                                 Send(LeaderAndIsr e5 to 2, 3; …)         write, sent once more

**Modules.**

    states               the states and the tables of legal transitions
    leader_election      the four strategies, as pure functions
    context              the controller's tables and counters
    settings             the operator's settings, and what the protocol version implies
    events, effects      the inputs and the outputs of scripts
    requests             collects requests to brokers and fixes their sequence
    partitions, replicas the two state machines
    controller_election, failover   wins the role, and restores a consistent state
    brokers, topics, configs, isr, log_dirs, preferred_election, shutdown, deletion, reassignment
                         one family of events each
    dispatch             selects the script of an event

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
