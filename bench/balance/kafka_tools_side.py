"""kafka-tools' own balancing, run in a process that sees nothing but its packages.

    python -S kafka_tools_side.py PACKAGES INPUT OUTPUT

INPUT is JSON: the racks of brokers by id, and per topic its partitions as [bytes, replicas]; OUTPUT
becomes the lists of replicas alike. Printed is what the planning took, in seconds. The package has
no types and claims the name `kafka`, so this file is a script and no module of the bench.
"""

# pyright: basic

import json
import sys
import time
from argparse import Namespace
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from kafka.tools.assigner.actions.balance import ActionBalance  # pyright: ignore
from kafka.tools.models.broker import Broker  # pyright: ignore
from kafka.tools.models.cluster import Cluster  # pyright: ignore
from kafka.tools.models.topic import Topic  # pyright: ignore

HOW = Namespace(types=["size", "rackaware"], exclude_topics=[])


def main(source: Path, made: Path) -> None:
    told = json.loads(source.read_text())
    cluster = Cluster()
    for number, rack in told["racks"].items():
        broker = Broker(f"b{number}", id=int(number))
        broker.rack = rack
        cluster.add_broker(broker)
    for name, partitions in told["topics"].items():
        topic = Topic(name, len(partitions))
        cluster.add_topic(topic)
        for partition, (size, replicas) in zip(topic.partitions, partitions, strict=True):
            partition.set_size(size)
            for at, number in enumerate(replicas):
                partition.add_replica(cluster.brokers[number], at)
    before = time.perf_counter()
    ActionBalance(HOW, cluster).process_cluster()
    print(time.perf_counter() - before)
    topics = cluster.topics.items()
    rows = {name: [[b.id for b in p.replicas] for p in topic.partitions] for name, topic in topics}
    made.write_text(json.dumps(rows))


main(Path(sys.argv[2]), Path(sys.argv[3]))
