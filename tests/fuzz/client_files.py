"""Properties files of clients, the settings in them, and key stores."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

from kedge.cluster.access import access_from
from kedge.cluster.properties import parse_properties
from kedge.cluster.tls import tls_context
from kedge.files import read_text
from kedge.topics import parse_add_config
from tests.cluster.key_stores import jks
from tests.fuzz.driver import only_refusals, start
from tests.fuzz.mutation import mutated_bytes

PROPERTIES = rb"""# a client
security.protocol = SASL_SSL
sasl.mechanism: SCRAM-SHA-256
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \
    username="ada" password="s3\u0063ret";
ssl.truststore.location=%s
ssl.truststore.password=changeit
ssl.truststore.type=%s
request.timeout.ms=1000
! another comment
"""
CONFIGS = b"cleanup.policy=[compact,delete],retention.ms=1000,min.insync.replicas=2"
PKCS12 = b"\x30\x82\x01\x00"  # read by a program of its own: seldom
PEM = b"-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ\n-----END CERTIFICATE-----\n"


def fuzz(seed: int) -> None:
    """Read damaged properties and a damaged key store, up to a context for TLS."""
    random = Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        store, file = Path(directory, "store"), Path(directory, "client.properties")
        store.write_bytes(mutated_bytes(_key_store(random), random))
        kind = random.choice((b"JKS", b"PEM", b"PKCS12"))
        file.write_bytes(mutated_bytes(PROPERTIES % (str(store).encode(), kind), random, most=3))
        with only_refusals():
            access = access_from(parse_properties(read_text(file)))
            if access.tls:
                tls_context(access)
    with only_refusals():
        parse_add_config(mutated_bytes(CONFIGS, random).decode(errors="replace"))


def _key_store(random: Random) -> bytes:
    if random.random() < 0.05:
        return PKCS12
    return random.choice((jks(b"one", b"two"), PEM))


if __name__ == "__main__":
    start(fuzz)
