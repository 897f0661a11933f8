"""A server that speaks Kafka's admin protocol, so that every Kafka tool and client works on it.

Goal. Kafka's own command line tools, confluent-kafka and kafka-python cannot tell a cluster that
Kedge runs from one that Kafka runs: the same requests, the same checks in the same order, the same
error codes, and answers that come when the thing is done.

    client ──TCP──▶ server ─▶ connection ─▶ dispatch ─▶ handlers ─▶ backend (an interface)
                                              │ protocol                │
                                              ▼                         ▼
                                         bytes ⇄ values      store · controller · images

Rules.

- Each node has a port and an id of its own. One of them is the controller; the others refuse what
  is the controller's alone (NOT_CONTROLLER), and clients find the right one by Metadata.
- A node answers from its *image*: what the controller has told that broker (`images`). So a
  client sees a change when the brokers know of it, as in a real cluster, and not before.
- Create, expand, delete and elect are answered when the node's image shows the outcome, or at the
  request's own timeout with REQUEST_TIMED_OUT; what was begun goes on.
- One item of a request never harms another: refusals stand beside successes, item by item.
- With users, a client authenticates before anything else is answered (`authentication`).
- Handlers are functions from a request, through the `Backend`, to a response. Only `server`,
  `accepting`, `connection` and `thread` touch sockets; only `stored_topics` and `stored_configs`
  the store.
- A controller of real brokers has a node of its own (`controller_node`): it answers what is the
  controller's and passes all else to a broker, byte for byte (`relay`).
- Hostile clients cost little: frames, connections, bytes in flight and idle time have limits, and
  what is not a request ends its connection and nothing else (`limits`, `accepting`). A request that
  is expensive to decode or to answer (`weight`) runs on a second event loop (`worker`), so that it
  delays no cheap one; its work ends with its connection.

Worked example: `kafka-topics --create --topic t --partitions 2 --replication-factor 2`.

    client                      endpoint                        controller
    Metadata → broker 2         controller is 1
    CreateTopics → broker 1     judged; /config/topics/t and
                                /brokers/topics/t written       sees the topic, elects,
                                waits for the image of 1   ◀──  tells brokers 1, 2, 3
    t: NONE, id, configs   ◀──  every partition has a leader

    images = Images(brokers)                       # the controller's brokers go through it
    loop = Loop(BrokerId(1), store, images, …)
    around = Surroundings(store2, images, {BrokerId(1): loop}, KeptLogDirs(images), "lab")
    with EndpointThread(lambda: Endpoint(ControllerBackend(around))) as endpoint:
        port = endpoint.open(BrokerId(1), "127.0.0.1")
"""

from kedge.endpoint.backend import (
    Backend,
    ConfigEntry,
    CreatedTopic,
    DeletedTopic,
    LogDirs,
    LogDirState,
    ReplicaInDir,
    Resource,
    ResourceType,
)
from kedge.endpoint.controller_backend import ControllerBackend, Surroundings
from kedge.endpoint.images import Image, Images
from kedge.endpoint.kept_log_dirs import KeptLogDirs
from kedge.endpoint.limits import Limits
from kedge.endpoint.quota import QuotaSettings
from kedge.endpoint.server import Endpoint, Traffic
from kedge.endpoint.settings import ClusterSettings
from kedge.endpoint.stored_topics import Luck
from kedge.endpoint.thread import EndpointThread

__all__ = [
    "Backend",
    "ClusterSettings",
    "ConfigEntry",
    "ControllerBackend",
    "CreatedTopic",
    "DeletedTopic",
    "Endpoint",
    "EndpointThread",
    "Image",
    "Images",
    "KeptLogDirs",
    "Limits",
    "LogDirState",
    "LogDirs",
    "Luck",
    "QuotaSettings",
    "ReplicaInDir",
    "Resource",
    "ResourceType",
    "Surroundings",
    "Traffic",
]
