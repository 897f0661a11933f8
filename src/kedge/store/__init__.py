"""The port to the metadata store, and what stands behind it.

The controller keeps its memory in a tree of small versioned nodes, as Kafka's does in ZooKeeper.
This package says what such a store can do (`port`), and has it three times over:

| adapter                            | for                                                        |
|------------------------------------|------------------------------------------------------------|
| `MemoryStore` on a `MemoryEnsemble` | tests and the simulator: deterministic, faults on purpose  |
| the same with a `Journal`          | a lab that survives restarts and kill -9                   |
| `ZooKeeperStore`                   | real brokers, through kazoo, pipelined                     |

One contract suite runs on all three, and random histories are compared between memory and a real
ZooKeeper, answers and watches alike. `znodes` has Kafka's paths and JSON, byte for byte.

The rules that a caller lives by:

- A batch is one round trip, however long it is. Its requests are carried out in order, others'
  may come between them; only the writes of a `Multi` are one.
- A refusal (`Conflict`) is an answer. A raised StoreUnavailable or SessionExpired means that the
  outcome is unknown: look before asking again. A raised InvalidRequest means that nothing at all
  was done.
- A watch is spent when it fires and says "look again". Watches survive a broken connection; after
  it, one may fire although nothing changed.
- Once a session has expired, every batch raises SessionExpired until `renew_session`: nobody goes
  on writing who does not know that its ephemeral nodes are gone.

A controller's claim, with the epoch as its fence:

    store = MemoryStore()
    store.batch([Create("/controller_epoch", b"0")])
    claim = Multi((Create("/controller", me, ephemeral=True),
                   SetData("/controller_epoch", b"1", version=0)))
    match store.batch([claim]):
        case [Committed((_, Written(stat)))]:
            fence = Check("/controller_epoch", stat.version)   # leads every later Multi
        case [Refused()]:
            ...                                                # somebody else was first
"""

from kedge.store.journal import Journal
from kedge.store.memory import Deliver, Delivery, MemoryEnsemble, MemoryStore
from kedge.store.port import Store

__all__ = ["Deliver", "Delivery", "Journal", "MemoryEnsemble", "MemoryStore", "Store"]
