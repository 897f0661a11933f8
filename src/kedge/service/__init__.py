"""The controller of real Kafka brokers, as a process.

Goal. Unmodified ZooKeeper-mode brokers run under Kedge's controller: they register, are told what
to lead and follow, ask for ISR changes, and leave in order. Kafka's own controller can take the
role from Kedge and Kedge from it, at any moment, with nothing to convert: all state is in
ZooKeeper, in Kafka's own form.

    ZooKeeper ◀── store ──▶ loop ──▶ images ──▶ wire ──TCP──▶ brokers
                             ▲ ▲                                │
              admin requests │ │ AlterPartition, …              │ all other requests,
    clients ──TCP──▶ endpoint ─┴── brokers                      │ byte for byte
                         └───────────────────── relay ──────────┘

Rules.

- The node that Kedge listens at is listed among the live brokers that brokers and clients are told
  of, so that they find it. It is in no other table, and nothing is ever placed on it.
- Whatever a client may ask of any broker can be asked of this node too: what is not the
  controller's is passed on to a broker.
- What operators have set on the brokers is learned from them (`broker_settings`).
- A client hears that something is done when every connected broker knows it (`images`).
- The role is lost with the session. A process that lost it forgets everything and runs again.

Worked example: `kedge controller run --zookeeper 127.0.0.1:2181 --listen 127.0.0.1:9090`.

    /controller              {"version":2,"brokerid":1000,…}      claimed, epoch 1 → 2
    broker 1 registers       UpdateMetadata: live 1 and 1000      so that it finds us
    kafka-topics --create    Metadata from broker 1: the controller is 1000 at port 9090
                             CreateTopics to 1000: written, elected, told, answered
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
