"""Sending samples to a topic: whole, in order, and once.

The producer is idempotent and waits for all in-sync replicas (`acks=all`), so a retry after a lost
answer neither drops nor doubles a row. A replica's rows share a key and so a partition. The first
row that a broker refuses for good ends the run with that reason.
"""

from __future__ import annotations

import ssl
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

import orjson

from kedge.cluster.access import Access, Store, access_from
from kedge.cluster.tls import tls_context
from kedge.errors import (
    AuthenticationFailed,
    BrokerFailed,
    ClusterUnavailable,
    KedgeError,
    Unauthorised,
    UnknownTopicOrPartition,
)

FLUSH_S = 60.0
QUEUE_FULL_POLL_S = 0.5


class Send(Protocol):
    """Takes the value of one row, and its key."""

    def __call__(self, value: bytes, key: bytes, /) -> None: ...


class Sender:
    """A producer for one topic."""

    def __init__(self, bootstrap: str, topic: str, settings: Mapping[str, str]) -> None:
        self.topic = topic
        self.sent = 0
        self._fault: KedgeError | None = None
        client: Any = import_module("confluent_kafka")
        config = {**client_settings(access_from(settings)), **_lasting(bootstrap)}
        self._producer: Any = client.Producer({**config, "error_cb": self._noticed})

    def __call__(self, value: bytes, key: bytes, /) -> None:
        """Send one row; returns before it has arrived."""
        while True:
            try:
                self._producer.produce(self.topic, value, key, on_delivery=self._delivered)
                break
            except BufferError:  # more is under way than the queue holds
                self._producer.poll(QUEUE_FULL_POLL_S)
        self._producer.poll(0)
        self._raise()

    def settle(self) -> None:
        """Return when every row has arrived."""
        left = self._producer.flush(FLUSH_S)
        self._raise()
        if left:
            hint = "look at the brokers, then send the rest again"
            raise ClusterUnavailable(f"{left} rows have not arrived at {self.topic}", hint=hint)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is None:
            self.sent += 1
        elif self._fault is None:
            self._fault = _said(error, self.topic)

    def _noticed(self, error: Any) -> None:
        """Faults of a connection: those that no retry will mend."""
        named = error.name() in ("_AUTHENTICATION", "_ALL_BROKERS_DOWN", "_SSL")
        if self._fault is None and (error.fatal() or named):
            self._fault = _said(error, self.topic)

    def _raise(self) -> None:
        if self._fault is not None:
            raise self._fault


@contextmanager
def sending(bootstrap: str, topic: str, settings: Mapping[str, str]) -> Generator[Sender]:
    """A sender for the time of a `with` block; every row has arrived when it ends well."""
    sender = Sender(bootstrap, topic, settings)
    yield sender
    sender.settle()


def as_value(row: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """A row as the topic holds it, and the key by which its replica's rows stay together."""
    key = "/".join(str(row.get(name)) for name in ("cluster", "topic", "partition", "broker"))
    return orjson.dumps(row, option=orjson.OPT_UTC_Z), key.encode()


def _lasting(bootstrap: str) -> dict[str, str | int | bool]:
    return {
        "bootstrap.servers": bootstrap,
        "enable.idempotence": True,
        "acks": "all",
        "linger.ms": 20,
        "compression.type": "lz4",
        "delivery.timeout.ms": 60_000,
        "log_level": 0,  # faults are told by callbacks; the library's own lines would go to stderr
    }


def client_settings(access: Access) -> dict[str, str]:
    """How to reach the cluster, in the words of librdkafka."""
    told = {"security.protocol": access.protocol, "client.id": access.client_id}
    if access.sasl:
        told |= {"sasl.mechanism": access.mechanism, "sasl.username": access.username}
        told |= {"sasl.password": access.password.reveal()}
    if access.tls:
        told |= _tls(access)
    return told


def _tls(access: Access) -> dict[str, str]:
    told = {"ssl.endpoint.identification.algorithm": "https" if access.check_hostname else "none"}
    if access.trusted:
        found = tls_context(access).get_ca_certs(binary_form=True)
        told["ssl.ca.pem"] = "".join(map(ssl.DER_cert_to_PEM_cert, found))
    return told | _identity(access.identity)


def _identity(store: Store) -> dict[str, str]:
    if not store:
        return {}
    password = (store.key_password or store.password).reveal()
    opened = {"ssl.key.password": password} if password else {}
    if not store.location:
        return {
            **opened,
            "ssl.certificate.pem": store.certificates,
            "ssl.key.pem": store.key.reveal(),
        }
    if store.location.lower().endswith((".p12", ".pfx", ".pkcs12")):
        return {"ssl.keystore.location": store.location, "ssl.keystore.password": password}
    return {
        **opened,
        "ssl.certificate.location": store.location,
        "ssl.key.location": store.location,
    }


def _said(error: Any, topic: str) -> KedgeError:
    """A fault of the library as one of ours."""
    match error.name():
        case "_UNKNOWN_TOPIC" | "_UNKNOWN_PARTITION" | "UNKNOWN_TOPIC_OR_PART":
            hint = "create it, or name another --topic"
            return UnknownTopicOrPartition(f"Topic {topic!r} not found", hint=hint)
        case "_AUTHENTICATION" | "SASL_AUTHENTICATION_FAILED" | "_SSL":
            return AuthenticationFailed("the brokers do not believe who we are, or we not them")
        case "TOPIC_AUTHORIZATION_FAILED" | "CLUSTER_AUTHORIZATION_FAILED":
            return Unauthorised(f"we may not write to topic {topic}")
        case "_ALL_BROKERS_DOWN" | "_MSG_TIMED_OUT" | "_TRANSPORT" | "_TIMED_OUT":
            return ClusterUnavailable(f"the brokers do not take rows for {topic}")
        case name:
            return BrokerFailed(f"topic {topic} refused a row: {name}")
