"""The port to a live cluster, and what stands behind it.

Goal. The operator's side of Kedge reads and changes clusters that run somebody else's controller:
Kafka's own, or Kedge's. `port` says what can be asked, in values that no client library knows of.

| adapter         | for                                                                          |
|-----------------|------------------------------------------------------------------------------|
| `KafkaAdmin`    | any Kafka since 2.4, with ZooKeeper or KRaft, over PLAINTEXT, SSL and SASL   |
| `MemoryCluster` | trying commands out, and their tests; it forgets                             |

One contract suite runs on both, on real clusters of 3.9 (ZooKeeper) and 4.1 (KRaft).

Rules.

- A call is a batch, and answers for each thing named. A refusal is a value (`KedgeError`) beside
  the successes; what concerns the whole call is raised.
- Every call has a deadline. Reads are asked again until then. A change is asked again only where
  nothing can have happened, so a raised `Unavailable` means: look before you ask again.
- Large calls go out in several requests (`batches`): ten thousand moves are five of them.
- Kafka's error codes become errors of this project in one place (`refusals`), faults of network,
  TLS and SASL in another (`wire`). Each is one sentence.
- Secrets are read into `Secret`, which never shows itself, and nothing here writes a log.

Clusters settle: right after a change, some broker may still tell the state from before it.

    cluster = KafkaAdmin("localhost:9092")
    cluster.create_topics([TopicOrder("orders", partitions=3, replication_factor=2),
                           TopicOrder("no/name")])
    # {'orders': None, 'no/name': InvalidTopic(…)}
    cluster.alter_reassignments({TopicPartition("orders", 0): (2, 3)})
    cluster.reassignments()
    # {orders-0: ReplicaAssignment(replicas=(2, 3, 1), adding=(3,), removing=(1,))}

The adapters are fetched on first use: the port needs no client library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kedge.cluster.port import Cluster

if TYPE_CHECKING:
    from kedge.cluster.access import Access, access_from
    from kedge.cluster.kafka_admin import KafkaAdmin
    from kedge.cluster.memory import MemoryCluster
    from kedge.cluster.properties import parse_properties

_FETCHED_ON_USE = {
    "Access": "access",
    "KafkaAdmin": "kafka_admin",
    "MemoryCluster": "memory",
    "access_from": "access",
    "parse_properties": "properties",
}


def __getattr__(name: str) -> Any:
    if name not in _FETCHED_ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"kedge.cluster.{_FETCHED_ON_USE[name]}"), name)
    globals()[name] = value
    return value


__all__ = [
    "Access",
    "Cluster",
    "KafkaAdmin",
    "MemoryCluster",
    "access_from",
    "parse_properties",
]
