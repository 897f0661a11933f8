"""One story told to Kafka's tools and to Kedge: command lines, most of them fit for both.

`topics create …` is `kafka-topics --create …` to Kafka and `kedge topics create …` to Kedge; all
that follows is the same to the letter. A line that begins with `!` must be refused by both and
change nothing. `{name}` stands for a file of `FILES`. Lines with `>` are stage directions.
"""

from __future__ import annotations

import json
from typing import Any

STORY = """
topics list
topics create --topic orders --replica-assignment 1:2,2:3,3:1
topics create --topic logs --partitions 2 --replication-factor 1
topics create --topic a.b --partitions 1 --replication-factor 3
topics create --topic kept --replica-assignment 2:1 --config flush.ms=9 --config preallocate=true
topics create --topic plain
topics create --topic manual --replica-assignment 1:2,2:3
topics create --topic lonely --replica-assignment 3
topics create --topic orders --if-not-exists
! topics create --topic orders
! topics create --topic bad/name
! topics create --topic ..
! topics create --topic {long}
! topics create --topic a_b
! topics create --topic many --partitions 1 --replication-factor 9
! topics create --topic none --partitions 0
! topics create --topic both --partitions 1 --replica-assignment 1:2
! topics create --topic twice --replica-assignment 1:1
! topics create --topic uneven --replica-assignment 1:2,3
! topics create --topic odd --config nonsense=1
! topics create --topic odd --config retention.ms=
! topics create --topic odd --config retention.ms=soon
topics list
topics list --exclude-internal
topics list --topic ord.*,logs
topics list --topic nothing
topics describe
topics describe --topic orders
topics describe --topic "'or.*, kept'"
topics describe --topic nothing --if-exists
! topics describe --topic nothing
topics describe --topics-with-overrides --topic orders,kept
topics describe --under-replicated-partitions
topics describe --unavailable-partitions
topics describe --under-min-isr-partitions
topics describe --at-min-isr-partitions --topic orders,logs
! topics describe --topics-with-overrides --under-replicated-partitions
topics alter --topic logs --partitions 4
topics alter --topic nothing --partitions 4 --if-exists
topics alter --topic manual --partitions 4 --replica-assignment 1:2,2:3,3:1,2:1
! topics alter --topic logs --partitions 3
! topics alter --topic logs --partitions 4
! topics alter --topic logs --partitions 0
! topics alter --topic nothing --partitions 4
! topics alter --topic manual --partitions 6 --replica-assignment 1:2,2:3,3:1,2:1,1:2
configs alter --topic orders --add-config retention.ms=86400000,cleanup.policy=[compact,delete]
configs alter --entity-type topics --entity-name orders --add-config min.insync.replicas=2
configs alter --topic orders --delete-config retention.ms
configs alter --topic orders --add-config segment.ms=7000 --delete-config cleanup.policy
configs alter --topic plain --add-config-file {properties}
! configs alter --topic orders --delete-config flush.ms
! configs alter --topic orders --add-config nonsense=1
! configs alter --topic orders --add-config retention.ms=soon
! configs alter --topic orders --add-config segment.ms=1000 --delete-config segment.ms
! configs alter --topic nothing --add-config retention.ms=1
! configs alter --topic orders
! configs alter --entity-type topics --add-config retention.ms=1
! configs alter --entity-type topics --topic orders --add-config retention.ms=1
configs describe --topic orders
configs describe --topic orders --all
configs describe --entity-type topics
configs alter --broker 1 --add-config leader.replication.throttled.rate=1000000
configs alter --broker-defaults --add-config log.retention.ms=99999999
configs alter --entity-type brokers --entity-default --add-config log.segment.bytes=1048577
configs describe --broker 1
configs describe --broker-defaults
configs describe --entity-type brokers
configs describe --broker 2 --all
configs describe --topic orders --all
configs alter --broker 1 --delete-config leader.replication.throttled.rate
configs alter --broker-defaults --delete-config log.retention.ms,log.segment.bytes
! configs alter --broker 1 --delete-config leader.replication.throttled.rate
! configs alter --broker 1 --add-config log.dirs=/tmp
! configs alter --broker one --add-config log.retention.ms=1
configs alter --user grace --add-config producer_byte_rate=1048576
configs alter --user grace --client app --add-config consumer_byte_rate=2000,request_percentage=12.5
configs alter --entity-type clients --entity-default --add-config consumer_byte_rate=77
configs describe --user grace
configs describe --user grace --client app
configs describe --entity-type clients --entity-default
configs describe --entity-type clients
configs describe --entity-type users --entity-type clients
configs describe --entity-type users --entity-name grace --entity-type clients
configs alter --ip 127.0.0.9 --add-config connection_creation_rate=50
configs describe --ip 127.0.0.9
configs alter --ip 127.0.0.9 --delete-config connection_creation_rate
configs alter --user grace --delete-config producer_byte_rate
configs alter --user grace --client app --delete-config consumer_byte_rate,request_percentage
configs alter --client-defaults --delete-config consumer_byte_rate
! configs alter --user grace --delete-config producer_byte_rate
! configs alter --user grace --add-config nonsense=1
reassign list
reassign generate --topics-to-move-json-file {topics} --broker-list 1,2,3
reassign generate --topics-to-move-json-file {topics} --broker-list 1,2 --disable-rack-aware
! reassign generate --topics-to-move-json-file {unknown-topics} --broker-list 1,2,3
! reassign generate --topics-to-move-json-file {topics} --broker-list 1,1
! reassign generate --topics-to-move-json-file {topics} --broker-list 1
! reassign generate --topics-to-move-json-file {topics} --broker-list 1,x
! reassign execute --reassignment-json-file {empty}
! reassign execute --reassignment-json-file {no-json}
! reassign execute --reassignment-json-file {version-2}
! reassign execute --reassignment-json-file {partition-twice}
! reassign execute --reassignment-json-file {broker-twice}
! reassign execute --reassignment-json-file {unknown-broker}
! reassign execute --reassignment-json-file {unknown-partition}
reassign execute --reassignment-json-file {move}
reassign verify --reassignment-json-file {move}
reassign execute --reassignment-json-file {back} --throttle 5000000
reassign verify --reassignment-json-file {back} --preserve-throttles
reassign verify --reassignment-json-file {back}
reassign verify --reassignment-json-file {move}
reassign cancel --reassignment-json-file {move}
reassign execute --reassignment-json-file {reorder}
elect --election-type preferred --topic orders --partition 0
elect --election-type preferred --topic orders --partition 0
elect --election-type PREFERRED --path-to-json-file {election}
elect --election-type unclean --topic orders --partition 1
elect --election-type preferred --all-topic-partitions
! elect --election-type preferred --topic orders --partition 99
! elect --election-type preferred --topic orders
! elect --election-type preferred --topic orders --partition 0 --all-topic-partitions
! elect --election-type best --all-topic-partitions
> fill orders
> throttle orders
reassign execute --reassignment-json-file {slow} --throttle 1000
reassign list
topics describe --topic orders
reassign verify --reassignment-json-file {slow}
! reassign execute --reassignment-json-file {other}
reassign execute --reassignment-json-file {slow} --throttle 2000 --additional
reassign cancel --reassignment-json-file {slow}
reassign list
reassign execute --reassignment-json-file {dirs} --replica-alter-log-dirs-throttle 9000000
> wait for directories
reassign verify --reassignment-json-file {dirs}
reassign cancel --reassignment-json-file {dirs} --preserve-throttles
! reassign execute --reassignment-json-file {no-dir}
> stop 3
topics describe --topic orders,manual,lonely
topics describe --under-replicated-partitions --topic orders,manual,lonely
topics describe --unavailable-partitions --topic orders,manual,lonely
topics describe --under-min-isr-partitions --topic orders,lonely
topics describe --at-min-isr-partitions --topic manual,lonely
! elect --election-type preferred --topic lonely --partition 0
! elect --election-type unclean --topic lonely --partition 0
! reassign execute --reassignment-json-file {to-the-dead}
> start 3
topics describe --unavailable-partitions
topics delete --topic orders
topics delete --topic a.*,kept,nothing
topics delete --topic nothing --if-exists
! topics delete --topic nothing
topics list
"""


def _moves(**replicas: list[int]) -> dict[str, Any]:
    entries = [
        {"topic": name.rpartition("_")[0], "partition": int(name.rpartition("_")[2])}
        | {"replicas": ids}
        for name, ids in replicas.items()
    ]
    return {"version": 1, "partitions": entries}


FILES: dict[str, str] = {
    "properties": "# of a topic\nretention.bytes = 5000\nmax.message.bytes: 2000000\n",
    "topics": '{"version":1,"topics":[{"topic":"orders"},{"topic":"manual"}]}',
    "unknown-topics": '{"version":1,"topics":[{"topic":"nothing"}]}',
    "empty": '{"version":1,"partitions":[]}',
    "no-json": "partitions: orders",
    "version-2": '{"version":2,"partitions":[]}',
    "partition-twice": json.dumps(
        {"partitions": [*_moves(orders_0=[1, 3])["partitions"] * 2], "version": 1}
    ),
    "broker-twice": json.dumps(_moves(orders_0=[1, 1])),
    "unknown-broker": json.dumps(_moves(orders_0=[1, 77])),
    "unknown-partition": json.dumps(_moves(orders_0=[1, 3], orders_50=[1, 2])),
    "move": json.dumps(_moves(orders_0=[3, 2], orders_1=[2, 1], manual_0=[2, 3])),
    "back": json.dumps(_moves(orders_0=[1, 2], orders_1=[2, 3], manual_0=[1, 2])),
    "reorder": json.dumps(_moves(orders_0=[2, 1])),
    "slow": json.dumps(_moves(orders_0=[3, 1], orders_1=[2, 1])),
    "other": json.dumps(_moves(manual_1=[1, 3])),
    "dirs": json.dumps(
        {
            "version": 1,
            "partitions": [
                {"topic": "manual", "partition": 0, "replicas": [1, 2], "log_dirs": ["@1b", "any"]},
                {"topic": "manual", "partition": 1, "replicas": [2, 3], "log_dirs": ["@2a", "@3b"]},
            ],
        }
    ),
    "no-dir": json.dumps(
        {"partitions": [_moves(manual_0=[1, 2])["partitions"][0] | {"log_dirs": ["any", "/no"]}]}
    ),
    "to-the-dead": json.dumps(_moves(manual_0=[1, 3])),
    "election": (
        '{"partitions":[{"topic":"orders","partition":1},{"topic":"manual","partition":0}]}'
    ),
}
LONG = "x" * 250
