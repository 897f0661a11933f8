"""Connections to single brokers: the port, real brokers over TCP, and a simulated broker.

`port` is the interface that a controller needs: a link to each broker, with requests answered in
the order of sending. The requests are values of `model.broker_requests`.

`wire` connects to real brokers: one ordered connection each, with unanswered requests sent again
until the link is closed. `wire_messages` translates requests and responses to Kafka's messages.

`simulated_broker` is a broker without disk, socket or thread. Its parts, from the inside out:

    log                   the records of one replica, its leader epochs, divergence of two logs
    disks                 log directories, which survive the process, and their failures
    replication_progress  a leader's view of its followers: in-sync replicas, high watermark
    partition_host        one partition on one broker: leading, following, ISR changes
    simulated_broker      the controller's requests, checked in the order of a real broker
    environment           the interface to time, other brokers and ISR changes

Rules.

- A simulated broker uses no randomness and no clock of its own: time comes from `Environment`.
- A request with an older broker epoch or controller epoch changes nothing, nor does a leader epoch
  that is not higher. A lower partition epoch is ignored without an error.
- A record is acknowledged once every member of the *maximal* ISR has it: while the outcome of an
  ISR change is unknown, the members before and after the change all count (KIP-497).
- A follower truncates its log to the offset where it diverges from the leader's epochs (KIP-101,
  KIP-279).

Worked example: leader 1, ISR [1, 2], follower 3 is behind.

    record 7 appended at 1          not acknowledged: 2 does not have it yet
    2 fetches up to 7               acknowledged: the ISR has it, 3 does not count
    3 fetches up to 7               1 requests the ISR [1, 2, 3]; until then all three count
    the response is lost            1 sends the same request again; records still wait for 3
"""

from kedge.brokers.disks import Disks
from kedge.brokers.environment import (
    Environment,
    FetchRequest,
    FetchResponse,
    IsrChange,
    IsrDecision,
)
from kedge.brokers.log import Record, ReplicaLog
from kedge.brokers.partition_host import Timings
from kedge.brokers.port import Answered, BrokerLink, Brokers
from kedge.brokers.simulated_broker import SimulatedBroker

__all__ = [
    "Answered",
    "BrokerLink",
    "Brokers",
    "Disks",
    "Environment",
    "FetchRequest",
    "FetchResponse",
    "IsrChange",
    "IsrDecision",
    "Record",
    "ReplicaLog",
    "SimulatedBroker",
    "Timings",
]
