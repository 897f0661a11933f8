"""Sends samples to a Kafka topic with an idempotent producer.

The producer waits for all in-sync replicas (`acks=all`), so a retry after a lost response neither
loses nor duplicates a row. The rows of a replica have the same key and so go to one partition. The
first row that cannot be delivered ends the run with that error.
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


class SendRow(Protocol):
    """Sends the value and the key of one row."""

    def __call__(self, value: bytes, key: bytes, /) -> None: ...


class KafkaSender:
    """A producer for one topic."""

    def __init__(self, bootstrap: str, topic: str, settings: Mapping[str, str]) -> None:
        self.topic = topic
        self.sent = 0
        self._error: KedgeError | None = None
        client: Any = import_module("confluent_kafka")
        config = {**librdkafka_settings(access_from(settings)), **_delivery_settings(bootstrap)}
        self._producer: Any = client.Producer({**config, "error_cb": self._on_error})

    def __call__(self, value: bytes, key: bytes, /) -> None:
        """Send one row asynchronously."""
        while True:
            try:
                self._producer.produce(self.topic, value, key, on_delivery=self._on_delivery)
                break
            except BufferError:  # the queue of the producer is full
                self._producer.poll(QUEUE_FULL_POLL_S)
        self._producer.poll(0)
        self._raise()

    def flush(self) -> None:
        """Wait until all rows are delivered."""
        left = self._producer.flush(FLUSH_S)
        self._raise()
        if left:
            hint = "check the brokers, then send the remaining rows again"
            raise ClusterUnavailable(f"{left} rows were not delivered to {self.topic}", hint=hint)

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is None:
            self.sent += 1
        elif self._error is None:
            self._error = _translate_error(error, self.topic)

    def _on_error(self, error: Any) -> None:
        """Keep errors of connections that no retry resolves."""
        permanent = error.name() in ("_AUTHENTICATION", "_ALL_BROKERS_DOWN", "_SSL")
        if self._error is None and (error.fatal() or permanent):
            self._error = _translate_error(error, self.topic)

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error


@contextmanager
def kafka_sender(bootstrap: str, topic: str, settings: Mapping[str, str]) -> Generator[KafkaSender]:
    """A sender for the duration of a `with` block; at its end all rows are delivered."""
    sender = KafkaSender(bootstrap, topic, settings)
    yield sender
    sender.flush()


def encode_row(row: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """The value of a row in the topic, and the key of its replica."""
    key = "/".join(str(row.get(name)) for name in ("cluster", "topic", "partition", "broker"))
    return orjson.dumps(row, option=orjson.OPT_UTC_Z), key.encode()


def _delivery_settings(bootstrap: str) -> dict[str, str | int | bool]:
    return {
        "bootstrap.servers": bootstrap,
        "enable.idempotence": True,
        "acks": "all",
        "linger.ms": 20,
        "compression.type": "lz4",
        "delivery.timeout.ms": 60_000,
        "message.max.bytes": 64 << 20,  # the broker's own limit decides
        "log_level": 0,  # errors arrive by callbacks; the library would log them to stderr too
    }


def librdkafka_settings(access: Access) -> dict[str, str]:
    """The connection settings of librdkafka."""
    settings = {"security.protocol": access.protocol, "client.id": access.client_id}
    if access.sasl:
        settings |= {"sasl.mechanism": access.mechanism, "sasl.username": access.username}
        settings |= {"sasl.password": access.password.reveal()}
    if access.tls:
        settings |= _tls(access)
    return settings


def _tls(access: Access) -> dict[str, str]:
    settings = {
        "ssl.endpoint.identification.algorithm": "https" if access.check_hostname else "none"
    }
    if access.trusted:
        certificates = tls_context(access).get_ca_certs(binary_form=True)
        settings["ssl.ca.pem"] = "".join(map(ssl.DER_cert_to_PEM_cert, certificates))
    return settings | _identity(access.identity)


def _identity(store: Store) -> dict[str, str]:
    if not store:
        return {}
    password = (store.key_password or store.password).reveal()
    unlock = {"ssl.key.password": password} if password else {}
    if not store.location:
        return {
            **unlock,
            "ssl.certificate.pem": store.certificates,
            "ssl.key.pem": store.key.reveal(),
        }
    if store.location.lower().endswith((".p12", ".pfx", ".pkcs12")):
        return {"ssl.keystore.location": store.location, "ssl.keystore.password": password}
    return {
        **unlock,
        "ssl.certificate.location": store.location,
        "ssl.key.location": store.location,
    }


def _translate_error(error: Any, topic: str) -> KedgeError:
    """The Kedge error for an error of librdkafka."""
    match error.name():
        case "_UNKNOWN_TOPIC" | "_UNKNOWN_PARTITION" | "UNKNOWN_TOPIC_OR_PART":
            hint = "create it, or use another --topic"
            return UnknownTopicOrPartition(f"Topic {topic!r} not found", hint=hint)
        case "_AUTHENTICATION" | "SASL_AUTHENTICATION_FAILED" | "_SSL":
            return AuthenticationFailed("authentication with the brokers failed")
        case "TOPIC_AUTHORIZATION_FAILED" | "CLUSTER_AUTHORIZATION_FAILED":
            return Unauthorised(f"no permission to write to topic {topic}")
        case "_ALL_BROKERS_DOWN" | "_MSG_TIMED_OUT" | "_TRANSPORT" | "_TIMED_OUT":
            return ClusterUnavailable(f"the brokers do not accept rows for {topic}")
        case name:
            return BrokerFailed(f"a row for topic {topic} was rejected: {name}")
