"""The port to a live cluster, and its adapters: Kafka's admin protocol, and a cluster in memory.

The operator's side of Kedge reads and changes clusters whose controller is Kafka's or Kedge's.
`port` declares the calls, in values that are independent of any client library.

| adapter            | for                                                                        |
|--------------------|----------------------------------------------------------------------------|
| `KafkaAdmin`       | any Kafka since 2.4, with ZooKeeper or KRaft, over PLAINTEXT, SSL and SASL  |
| `MemoryCluster`    | trials and tests of commands; nothing is kept                              |
| `ZooKeeperCluster` | ZooKeeper's nodes, without a broker (package `kedge.zookeeper_cluster`)    |

One contract suite runs on all of them, on real clusters of 3.9 (ZooKeeper) and 4.1 (KRaft).
`snapshot_taker` reads a whole cluster through the port.

Rules.

- A call is a batch and returns a result for each item. A refusal is a value (`KedgeError`) beside
  the successes; a fault of the whole call is raised.
- Every call has a deadline, and its request to each broker a share of the time that is left, so
  that a broker that hangs does not hide those after it. Reads are retried until then. A change is
  retried only where nothing can have happened, so after a raised `Unavailable` the caller reads
  before it sends again.
- Large calls go out in several requests (`batches`): ten thousand moves are five of them.
- Kafka's error codes become errors of this project in one place (`error_mapping`), faults of
  network, TLS and SASL in another (`wire`). Each is one sentence.
- Secrets are read into `Secret`, whose text form hides them, and nothing here writes a log.

Metadata is eventually consistent: right after a change, a broker may report the state before it.

    cluster = KafkaAdmin("localhost:9092")
    cluster.create_topics([TopicCreation("orders", partitions=3, replication_factor=2),
                           TopicCreation("no/name")])
    # {'orders': None, 'no/name': InvalidTopic(…)}
    cluster.alter_reassignments({TopicPartition("orders", 0): (2, 3)})
    cluster.reassignments()
    # {orders-0: ReplicaAssignment(replicas=(2, 3, 1), adding=(3,), removing=(1,))}

Adapters are opened by `kedge.wiring`; this package exports the port alone, which needs no client
library.
"""

from kedge.cluster.port import Cluster

__all__ = ["Cluster"]
