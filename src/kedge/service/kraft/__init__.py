"""A KRaft controller as a process: the machine of `kedge.kraft` with a disk and sockets.

    peers ◀──TCP── channels ◀─ sends ─┐
                                      │
    brokers, clients ──TCP──▶ listener ──▶ one loop: handle(event) ─▶ writes, synced ─▶ the rest
                                      ▲                                   │
                                      └── answers, replies ◀──────────────┘

Rules.

- One thread, one event loop. An event is handled to its end: the machine decides, its writes are
  carried out and synced, and only then does anything leave the process (`process`).
- A connection's requests are answered in the sequence in which they came, as Kafka's are; one that
  waits (a Fetch, an answer before its commit) holds back only its own connection (`listener`).
- One connection per peer, with one request under way; a new one replaces one that has not been
  answered in time (`channels`).
- The configuration is Kafka's `server.properties` (`properties`), with TLS and SASL/PLAIN on the
  listener (`security`). What is not supported and would weaken the cluster if it were ignored (an
  authorizer, another mechanism) is refused.
- A fault of the protocol or of the disk ends the process: it must not go on with half a truth.
"""

from kedge.service.kraft.process import KraftService
from kedge.service.kraft.properties import ServerProperties, read_properties

__all__ = ["KraftService", "ServerProperties", "read_properties"]
