"""Real 4.1 brokers and controllers that reach Kedge over TLS and SASL."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from jvm import KAFKA_4_1
from jvm.kraft import Quorum, quorum, until
from jvm.tools import KafkaTools, kafka_tools

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(900)]

KAFKA, KEDGE = (3001, 3002), 3003
RECORDS = 200
JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="node" password="secret" user_node="secret" user_ada="lovelace";'
)


def keys(directory: Path) -> dict[str, str]:
    """A key and certificate for 127.0.0.1 that every node has and trusts, in PEM."""
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=node -keyout k -out crt.pem"
    named = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        ["openssl", *words.split(), *named], cwd=directory, check=True, capture_output=True
    )
    both = (directory / "k").read_text() + (directory / "crt.pem").read_text()
    (directory / "node.pem").write_text(both)
    at = "listener.name.controller."
    return {
        f"{at}ssl.keystore.type": "PEM",
        f"{at}ssl.keystore.location": str(directory / "node.pem"),
        f"{at}ssl.truststore.type": "PEM",
        f"{at}ssl.truststore.location": str(directory / "crt.pem"),
    }


def protocol(name: str) -> dict[str, str]:
    return {"listener.security.protocol.map": f"CONTROLLER:{name},PLAINTEXT:PLAINTEXT"}


SASL = {
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": JAAS,
}


def run(made: Quorum, tools: KafkaTools, tool: str, *words: str) -> str:
    answer = tools(tool, "--bootstrap-server", made.bootstrap, *words)
    assert answer.code == 0, answer.out + answer.err
    return answer.out


def round_trip(made: Quorum, tools: KafkaTools, topic: str) -> None:
    """Create a topic and read back what is written to it."""
    run(made, tools, "topics", "--create", "--topic", topic, "--partitions", "3")
    producer = Producer({"bootstrap.servers": made.bootstrap, "acks": "all"})
    for number in range(RECORDS):
        producer.produce(topic, str(number).encode())
    assert producer.flush(60) == 0
    settings = {"bootstrap.servers": made.bootstrap, "group.id": topic}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found: set[bytes] = set()

    def whole() -> bool:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            found.add(message.value() or b"")
        return len(found) == RECORDS

    until("all records", whole, timeout_s=120)
    consumer.close()


def leader(made: Quorum, tools: KafkaTools) -> int | None:
    """The leader as Kafka's tool sees it; None while there is none."""
    answer = tools("quorum", "--bootstrap-server", made.bootstrap, "describe", "--status")
    lines = dict(line.split(":", 1) for line in answer.out.splitlines() if ":" in line)
    return int(lines["LeaderId"]) if answer.code == 0 else None


def started(made: Quorum) -> None:
    for node in made.nodes.values():
        node.start()


@pytest.mark.parametrize("name", ["SSL", "SASL_PLAINTEXT"])
def test_brokers_obey_a_secured_controller(tmp_path: Path, name: str) -> None:
    settings: Mapping[str, str] = {
        **protocol(name),
        **keys(tmp_path),
        **SASL,
        "listener.name.controller.ssl.client.auth": "required",
    }
    with quorum(tmp_path, kedge=(KEDGE,), settings=settings) as made:
        started(made)
        with (
            made.brokers(1, settings=settings),
            kafka_tools(KAFKA_4_1, tmp_path) as tools,
        ):
            round_trip(made, tools, "secured")
            assert leader(made, tools) == KEDGE


def test_a_mixed_quorum_over_sasl_and_tls_is_led_by_both(tmp_path: Path) -> None:
    settings = {**protocol("SASL_SSL"), **keys(tmp_path), **SASL}
    with quorum(tmp_path, kedge=(KEDGE,), kafka=KAFKA, settings=settings) as made:
        started(made)
        with (
            made.brokers(1, settings=settings),
            kafka_tools(KAFKA_4_1, tmp_path) as tools,
        ):
            led: set[str] = set()
            for number in range(8):
                now = until("a leader", lambda: leader(made, tools), timeout_s=120)
                led.add("kedge" if now == KEDGE else "kafka")
                round_trip(made, tools, f"t{number}")
                if len(led) == 2:
                    break
                made.nodes[now].kill()
                until("another", lambda old=now: leader(made, tools) not in (None, old))
                made.nodes[now].stop()
                made.nodes[now].start()
            assert led == {"kedge", "kafka"}
            assert not any(node.has_ended for node in made.nodes.values())
