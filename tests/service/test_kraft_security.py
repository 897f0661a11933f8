"""TLS and SASL on the listener of controllers: a node and its peer, on one event loop."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from kedge.errors import InvalidConfiguration, MalformedInput
from kedge.quorum.messages import ApiVersionsRequest
from kedge.quorum.node import Send
from kedge.service.kraft import ServerProperties
from kedge.service.kraft.channels import CALL_FAILED, Channel, Versions
from kedge.service.kraft.listener import Listener
from kedge.service.kraft.peers import Peers
from kedge.service.kraft.security import PLAINTEXT, ListenerSecurity, security_of
from tests.kraft.nodes import Quorum
from tests.kraft_rpc.served import Served

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
USERS = 'user_node="secret" user_ada="lovelace"'
MAP = "listener.security.protocol.map"
JAAS = "listener.name.controller.plain.sasl.jaas.config"
SASL = {
    "sasl.mechanism.controller.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN",
    JAAS: f'{PLAIN} username="node" password="secret" {USERS};',
}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`node.pem`: key and certificate for 127.0.0.1; `other.pem`: those of a stranger."""
    directory = tmp_path_factory.mktemp("keys")
    for name in ("node", "other"):
        words = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name}".split()
        named = ["-addext", "subjectAltName=IP:127.0.0.1"]
        files = ["-keyout", f"{name}.key", "-out", f"{name}.crt"]
        subprocess.run(
            ["openssl", *words, *named, *files], cwd=directory, check=True, capture_output=True
        )
        parts = [(directory / f"{name}.{kind}").read_text() for kind in ("key", "crt")]
        (directory / f"{name}.pem").write_text("".join(parts))
    return directory


def tls(keys: Path, name: str = "node", trusted: str = "node") -> dict[str, str]:
    return {
        "listener.name.controller.ssl.keystore.location": str(keys / f"{name}.pem"),
        "ssl.truststore.location": str(keys / f"{trusted}.crt"),
    }


def secured(protocol: str, *settings: dict[str, str]) -> ListenerSecurity:
    merged = {MAP: f"CONTROLLER:{protocol},PLAINTEXT:PLAINTEXT"}
    for some in settings:
        merged |= some
    return security_of(merged, "CONTROLLER")


async def asked(server: ListenerSecurity, client: ListenerSecurity) -> Versions:
    """What a peer learns from a listener."""

    served = Served(Quorum(1))

    async def respond(payload: bytes) -> bytes:
        return served.answer(payload)

    listener = Listener(respond, lambda what, why: None, server)
    await listener.open("127.0.0.1", 0)
    channel = Channel("127.0.0.1", listener.port, timeout_ms=5_000, security=client)
    try:
        return await channel.versions()
    finally:
        channel.close()
        await listener.close()


def run(work: Coroutine[Any, Any, Versions]) -> Versions:
    return asyncio.run(asyncio.wait_for(work, 20))


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_both_sides_of_a_protocol_understand_each_other(protocol: str, keys: Path) -> None:
    security = secured(protocol, tls(keys), SASL)
    assert security.protocol == protocol
    assert run(asked(security, security)).features["kraft.version"] == (0, 1)


def test_a_wrong_password_is_refused() -> None:
    server = secured("SASL_PLAINTEXT", SASL)
    wrong = {**SASL, JAAS: f'{PLAIN} username="node" password="guess" {USERS};'}
    with pytest.raises(OSError, match="SASL/PLAIN"):
        run(asked(server, secured("SASL_PLAINTEXT", wrong)))


def test_a_refused_login_is_logged_once() -> None:
    notes: list[str] = []

    async def ask_twice() -> None:
        server = secured("SASL_PLAINTEXT", SASL)
        listener = Listener(unreached, lambda what, why: None, server)
        await listener.open("127.0.0.1", 0)
        wrong = {**SASL, JAAS: f'{PLAIN} username="node" password="guess" {USERS};'}
        values = {
            "node.id": "1",
            "listeners": "CONTROLLER://127.0.0.1:1",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"2@127.0.0.1:{listener.port}",
            "log.dirs": "unused",
            MAP: "CONTROLLER:SASL_PLAINTEXT",
            **wrong,
        }
        note = lambda what, **fields: notes.append(f"{what} {fields['peer']}")  # noqa: E731
        peers = Peers(ServerProperties.of(values), timeout_ms=5_000, note=note)
        for _ in range(2):
            with pytest.raises(OSError, match="SASL/PLAIN"):
                await peers.ask(Send(2, 1, ApiVersionsRequest()))
        peers.close()
        await listener.close()

    asyncio.run(ask_twice())
    assert notes == ["peer refused 2"]


async def unreached(payload: bytes) -> bytes:
    raise AssertionError("a request before authentication was let through")


def test_nothing_is_answered_before_authentication() -> None:
    async def other_request() -> None:
        reached: list[bytes] = []

        async def respond(payload: bytes) -> bytes:
            reached.append(payload)
            return payload

        listener = Listener(respond, lambda what, why: None, secured("SASL_PLAINTEXT", SASL))
        await listener.open("127.0.0.1", 0)
        incoming, outgoing = await asyncio.open_connection("127.0.0.1", listener.port)
        payload = b"\x00\x13\x00\x07" + bytes(20)  # CreateTopics
        outgoing.write(len(payload).to_bytes(4, "big") + payload)
        assert await incoming.read() == b""
        outgoing.close()
        await listener.close()
        assert reached == []

    asyncio.run(other_request())


@pytest.mark.parametrize(
    ("server", "client"),
    [
        ({}, {"trusted": "other"}),  # the client does not know the server's certificate
        ({"trusted": "node"}, {"name": "other"}),  # the server does not know the client's
    ],
)
def test_a_stranger_is_refused(server: dict[str, str], client: dict[str, str], keys: Path) -> None:
    required = {"ssl.client.auth": "required"}
    here = secured("SSL", tls(keys, **server), required)
    with pytest.raises(CALL_FAILED):
        run(asked(here, secured("SSL", tls(keys, **client), required)))


def test_a_plain_client_is_not_answered_where_tls_is_spoken(keys: Path) -> None:
    with pytest.raises(CALL_FAILED):
        run(asked(secured("SSL", tls(keys)), PLAINTEXT))


def test_the_prefix_of_the_listener_wins(keys: Path) -> None:
    common = {"ssl.keystore.location": str(keys / "missing.pem")}
    assert secured("SSL", common, tls(keys)).server is not None


@pytest.mark.parametrize(
    ("protocol", "changes", "words"),
    [
        ("KERBEROS", {}, "the protocol KERBEROS"),
        ("SSL", {}, "there is no key"),
        ("SASL_PLAINTEXT", {}, "sasl.mechanism.controller.protocol is GSSAPI"),
        ("SASL_PLAINTEXT", {**SASL, "sasl.enabled.mechanisms": "GSSAPI"}, "sasl.enabled"),
        ("SASL_PLAINTEXT", {**SASL, JAAS: ""}, "plain.sasl.jaas.config is not set"),
        ("SASL_PLAINTEXT", {**SASL, JAAS: f'{PLAIN} user_a="b";'}, "no username and password"),
    ],
)
def test_what_cannot_be_kept_up_is_refused(
    protocol: str, changes: dict[str, str], words: str
) -> None:
    with pytest.raises(InvalidConfiguration, match=words):
        secured(protocol, changes)


def test_a_login_module_that_does_not_read_is_refused_without_its_text() -> None:
    with pytest.raises(MalformedInput) as refusal:
        secured("SASL_PLAINTEXT", {**SASL, JAAS: "secret"})
    assert "secret" not in str(refusal.value)


def test_a_wrong_client_auth_is_refused(keys: Path) -> None:
    with pytest.raises(InvalidConfiguration, match=r"ssl.client.auth is 'maybe'"):
        secured("SSL", tls(keys), {"ssl.client.auth": "maybe"})
