"""Makes settings of librdkafka from Kafka's client properties, so that both reach the same."""

from __future__ import annotations

import logging
import re
from typing import Any

from confluent_kafka import KafkaError

from kedge.cluster.access import Access
from kedge.cluster.tls import identity_pem, trusted_pem

_CERTIFICATES = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL
)


# What is wrong is raised, not printed: librdkafka would write fatal errors to stderr.
_SILENT = logging.getLogger("kedge.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def _ignore(_: KafkaError) -> None:
    return None


def librdkafka_settings(bootstrap: str, access: Access) -> dict[str, Any]:
    """Settings that producers and consumers share."""
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "client.id": access.client_id,
        "security.protocol": access.protocol,
        "socket.timeout.ms": access.request_timeout_ms,
        "log_level": 0,
        "logger": _SILENT,
        # The call that failed reports the same error.
        "error_cb": _ignore,
    }
    if access.sasl:
        settings |= {
            "sasl.mechanism": access.mechanism,
            "sasl.username": access.username,
            "sasl.password": access.password.reveal(),
        }
    if access.tls:
        settings |= _tls(access)
    return settings


def _tls(access: Access) -> dict[str, Any]:
    named = "https" if access.check_hostname else "none"
    settings: dict[str, Any] = {"ssl.endpoint.identification.algorithm": named}
    if access.trusted:
        settings["ssl.ca.pem"] = trusted_pem(access.trusted)
    if access.identity:
        pem = identity_pem(access.identity)
        key = _KEY.search(pem)
        settings["ssl.certificate.pem"] = "\n".join(_CERTIFICATES.findall(pem))
        settings["ssl.key.pem"] = key.group() if key else ""
        password = access.identity.key_password or access.identity.password
        if password:
            settings["ssl.key.password"] = password.reveal()
    return settings
