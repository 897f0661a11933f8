"""A server that speaks Kafka's admin protocol, so that every Kafka tool and client works with it.

Goal. Kafka's own command line tools, confluent-kafka and kafka-python cannot distinguish a cluster
that Kedge runs from one that Kafka runs: the same requests, the same checks in the same order, the
same error codes, and answers that come when the change is done.

    client ──TCP──▶ server ─▶ connection ─▶ dispatch ─▶ handlers ─▶ backend
                                              │ protocol                │
                                              ▼                         ▼
                                         bytes ⇄ values      store · controller · metadata caches

Rules.

- Each node has a port and an id of its own. One of them is the controller; the others refuse the
  controller's requests (NOT_CONTROLLER), and clients find the right one by Metadata.
- A node answers from its *metadata cache*: what the controller has sent to that broker
  (`metadata_caches`). So a client sees a change when the brokers know of it, as in a real cluster,
  and not before.
- Create, expand, delete and elect are answered when the node's cache shows the outcome, or at the
  request's own timeout with REQUEST_TIMED_OUT; what was begun continues. Reads are answered
  whatever the timeout is.
- The items of a request are independent: refusals stand beside successes, item by item.
- With users, a client authenticates before anything else is answered (`authentication`).
- Handlers are functions from a request, through the backend, to a response. Only `server` and
  `connection` use sockets. The store is used by `topic_requests`, `config_requests` and
  `cluster_access`, on one thread (`threads`).
- A controller of real brokers has a node of its own, which answers requests to the controller and
  passes all others to a broker (`kedge.service.controller_node`).
- Hostile clients cost little: frames, connections, bytes in flight and idle time have limits
  (`limits`), and a frame that is no request ends its connection and nothing else. A request that
  is costly to decode or to answer runs on a second event loop, so that it delays no cheap one; its
  work ends with its connection (`dispatch`).

Worked example: `kafka-topics --create --topic t --partitions 2 --replication-factor 2`.

    client                      endpoint                        controller
    Metadata → broker 2         controller is 1
    CreateTopics → broker 1     validated; /config/topics/t and
                                /brokers/topics/t written       sees the topic, elects leaders,
                                waits for the cache of 1   ◀──  sends them to brokers 1, 2, 3
    t: NONE, id, configs   ◀──  every partition has a leader

    caches = MetadataCaches(brokers)               # the controller's requests go through it
    loop = Loop(BrokerId(1), store, caches, …)
    deps = BackendDeps(store2, caches, {BrokerId(1): loop}, FakeLogDirs(caches), "lab")
    with EndpointThread(lambda: Endpoint(ControllerBackend(deps))) as endpoint:
        port = endpoint.open(BrokerId(1), "127.0.0.1")
"""

from kedge.endpoint.backend import ControllerBackend
from kedge.endpoint.cluster_access import BackendDeps, ClusterSettings, Rng
from kedge.endpoint.config_entries import ConfigEntry, Resource, ResourceType
from kedge.endpoint.limits import Limits, QuotaSettings
from kedge.endpoint.log_dirs import FakeLogDirs, LogDirs, LogDirState, ReplicaInDir
from kedge.endpoint.metadata_caches import MetadataCache, MetadataCaches
from kedge.endpoint.server import Endpoint, EndpointThread, Traffic
from kedge.endpoint.topic_requests import DeletedTopic

__all__ = [
    "BackendDeps",
    "ClusterSettings",
    "ConfigEntry",
    "ControllerBackend",
    "DeletedTopic",
    "Endpoint",
    "EndpointThread",
    "FakeLogDirs",
    "Limits",
    "LogDirState",
    "LogDirs",
    "MetadataCache",
    "MetadataCaches",
    "QuotaSettings",
    "ReplicaInDir",
    "Resource",
    "ResourceType",
    "Rng",
    "Traffic",
]
