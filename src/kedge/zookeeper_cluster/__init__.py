"""The cluster port on ZooKeeper's nodes: topics, configs, moves and elections without a broker.

Kafka's command-line tools up to 2.8 changed a cluster through its ZooKeeper. This package does the
same for `--zookeeper`, on any store of `kedge.store`: topics are written where the controller
watches, moves and elections are requests in `/admin/reassign_partitions` and
`/admin/preferred_replica_election` that the controller removes when they are done.

- It works while no broker can be reached. Brokers do not check what is written, so `kedge.topics`
  validates every request first.
- Reads and writes of many topics go out in pipelined batches: describing a thousand topics takes
  two rounds, one for the assignments and one for the partition states.
- Kafka never offered cancelling, log directories, client quotas and unclean elections through
  ZooKeeper: they raise `UnsupportedByCluster`. Configs are those that are set on a topic or broker;
  defaults are known to brokers only.

The package is not part of `kedge.cluster`, since ports may not import the packages that decide.

    cluster = ZooKeeperCluster(ZooKeeperStore("localhost:2181"))
    cluster.create_topics([TopicCreation("orders", partitions=3, replication_factor=2)])
"""

from kedge.zookeeper_cluster.adapter import ZooKeeperCluster

__all__ = ["ZooKeeperCluster"]
