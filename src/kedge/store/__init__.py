"""The port to the metadata store and its adapters: in memory, journaled on disk, and ZooKeeper.

The controller keeps its state in a tree of small versioned nodes, as Kafka's controller does in
ZooKeeper. `port` defines the operations of such a store. There are three adapters:

| adapter                             | used for                                                   |
|-------------------------------------|------------------------------------------------------------|
| `MemoryStore` on a `MemoryEnsemble` | tests and the simulator: deterministic, injectable faults  |
| the same with a `Journal`           | a lab that survives restarts and kill -9                   |
| `ZooKeeperStore`                    | real brokers, through kazoo, pipelined                     |

One contract suite runs on all three, and random histories are compared between memory and a real
ZooKeeper, answers and watches alike. `znodes` has Kafka's paths and JSON, byte for byte.

Rules for callers:

- A batch is one round trip, however long it is. Its requests run in sequence; requests of other
  sessions may run between them. Only the writes of a `Multi` are atomic.
- A conflict (`Conflict`) is an answer. A raised StoreUnavailable or SessionExpired means that the
  outcome is unknown: read before sending the request again. A raised InvalidRequest means that no
  request of the batch was executed.
- A watch fires once and means "read again". Watches survive a broken connection; after a
  reconnect, a watch may fire although nothing changed.
- Once a session has expired, every batch raises SessionExpired until `renew_session`, so that a
  client cannot write before it knows that its ephemeral nodes are gone.

A controller's claim, with the epoch as its fence:

    store = MemoryStore()
    store.batch([Create("/controller_epoch", b"0")])
    claim = Multi((Create("/controller", me, ephemeral=True),
                   SetData("/controller_epoch", b"1", version=0)))
    match store.batch([claim]):
        case [Committed((_, Written(stat)))]:
            fence = Check("/controller_epoch", stat.version)   # leads every later Multi
        case [Refused()]:
            ...                                                # another client was first
"""

from kedge.store.journal import Journal
from kedge.store.memory import Deliver, Delivery, MemoryEnsemble, MemoryStore
from kedge.store.port import Store

__all__ = ["Deliver", "Delivery", "Journal", "MemoryEnsemble", "MemoryStore", "Store"]
