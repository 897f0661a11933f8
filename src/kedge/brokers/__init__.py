"""The port to single brokers, and a broker that needs no machine.

`port` is what a controller needs of brokers: a link to each, requests answered in order. What is
said over a link are the values of `model.broker_requests`.

`simulated` is a broker that obeys them as real ones do, without a disk, a socket or a thread. Its
parts, from the inside out:

    log        the records of one replica, where leader epochs begin, where two logs part
    disks      log directories: what survives the process, and what cannot be read any more
    leading    a leader's view of its followers: who is in sync, what is committed
    hosting    one partition on one broker: leading, following, asking for another ISR
    simulated  the requests of the controller, checked in the order of a real broker
    around     what a broker needs of the world: time, other brokers, a way to change an ISR

`wire` is the way to real brokers: one ordered connection each, requests that were not answered
sent again until the link is closed. `wire_forms` has what is said and heard, as Kafka's messages.

Rules.

- A broker decides nothing by luck or by the clock of the machine: time comes from `Around`.
- A request with an older broker epoch or controller epoch changes nothing. A leader epoch that is
  not higher changes nothing. A lower partition epoch is skipped without a word.
- A record is acknowledged once every member of the *maximal* ISR has it: while nobody knows whether
  a change of the ISR was stored, the members before and after it all count (KIP-497).
- A follower cuts its log back to where its leader's epochs say that they part (KIP-101, KIP-279).

Worked example: leader 1, ISR [1, 2], follower 3 is behind.

    record 7 appended at 1          not acknowledged: 2 does not have it yet
    2 fetches up to 7               acknowledged: the ISR has it, 3 does not matter
    3 fetches up to 7               1 asks for the ISR [1, 2, 3]; until it hears, all three count
    the answer is lost              1 asks the very same again; records wait for 3 all the while
"""

from kedge.brokers.around import Around, Fetch, Fetched, IsrChange, IsrDecision
from kedge.brokers.disks import Disks
from kedge.brokers.hosting import Timings
from kedge.brokers.log import Record, ReplicaLog
from kedge.brokers.port import Answered, BrokerLink, Brokers
from kedge.brokers.simulated import SimulatedBroker

__all__ = [
    "Answered",
    "Around",
    "BrokerLink",
    "Brokers",
    "Disks",
    "Fetch",
    "Fetched",
    "IsrChange",
    "IsrDecision",
    "Record",
    "ReplicaLog",
    "SimulatedBroker",
    "Timings",
]
