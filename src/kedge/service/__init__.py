"""The controller of real Kafka brokers, as a process.

Goal. Unmodified ZooKeeper-mode brokers run under Kedge's controller: they register, receive
LeaderAndIsr requests, request ISR changes, and shut down in a controlled way. Kafka's own
controller can take the role from Kedge and Kedge from it, at any moment, with nothing to convert:
all state is in ZooKeeper, in Kafka's own form.

    ZooKeeper ◀── store ──▶ loop ──▶ caches ──▶ wire ──TCP──▶ brokers
                             ▲ ▲                                │
              admin requests │ │ AlterPartition, …              │ all other requests,
    clients ──TCP──▶ endpoint ─┴── brokers                      │ byte for byte
                         └───────────────────── relay ──────────┘

Rules.

- The controller's node is listed among the live brokers in UpdateMetadata, so that brokers and
  clients find it. It is in no other table, and no replica is ever placed on it.
- Clients may send this node any request that a broker answers (`controller_node`): what the
  controller does not answer is passed on to a broker, byte for byte (`relay`).
- The settings that operators gave the brokers are read from a broker (`broker_settings`).
- A change is answered when every connected broker has it (`node_cache`).
- The loop's thread alone uses the controller's tables; all others read the view that it publishes.
- The role is lost with the session. A process that lost it drops its state and becomes a candidate
  again.

Worked example: `kedge controller run --zookeeper 127.0.0.1:2181 --listen 127.0.0.1:9090`.

    /controller              {"version":2,"brokerid":1000,…}      claimed, epoch 1 → 2
    broker 1 registers       UpdateMetadata: live 1 and 1000      so that it finds the controller
    kafka-topics --create    Metadata from broker 1: the controller is 1000 at port 9090
                             CreateTopics to 1000: written, leaders elected and sent, answered
"""

from kedge.service.broker_settings import BrokerSettings, ask_broker
from kedge.service.log import JsonLines
from kedge.service.options import Options, parse_address, parse_protocol
from kedge.service.process import ControllerService

__all__ = [
    "BrokerSettings",
    "ControllerService",
    "JsonLines",
    "Options",
    "ask_broker",
    "parse_address",
    "parse_protocol",
]
