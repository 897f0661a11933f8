"""Who may use a lab, and what others can do to its files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from kedge.cluster.access import access_from
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.errors import AuthenticationFailed, InvalidRequest, MalformedInput
from kedge.lab import Lab, LabSettings
from kedge.lab.sasl_users import exposure, read_users
from kedge.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from tests.endpoint.client import Client
from tests.lab.labs import detached, kedge

SECRET = "correct:horse"
USERS = f"# who may connect\nada:{SECRET}\n\nbob:staple\n"
UNSUPPORTED_MECHANISM, ILLEGAL_STATE, FAILED = 33, 34, 58


def users_file(folder: Path, text: str = USERS) -> Path:
    path = folder / "users"
    path.write_text(text)
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def sasl_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    path = users_file(tmp_path_factory.mktemp("users"))
    with Lab.running(LabSettings(brokers=2, sasl_users=str(path))) as made:
        yield made


def port(lab: Lab) -> int:
    return lab.lab_dir.ports[0]


def handshake(client: Client, mechanism: str = "PLAIN", version: int = 1) -> int:
    request = SaslHandshakeRequest(mechanism=mechanism)
    return client.ask(request, SaslHandshakeResponse, version).error_code


def prove(client: Client, token: bytes, version: int = 2) -> SaslAuthenticateResponse:
    return client.ask(SaslAuthenticateRequest(auth_bytes=token), SaslAuthenticateResponse, version)


def metadata(client: Client) -> bool:
    client.send(MetadataRequest(topics=[]), 9)
    return len(client.receive()) > 8


# ---- the exchange -------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_client_with_the_right_password_is_answered(sasl_lab: Lab, version: int) -> None:
    with Client(port(sasl_lab)) as client:
        assert client.ask(ApiVersionsRequest(), ApiVersionsResponse).error_code == 0
        assert handshake(client) == 0
        assert prove(client, b"\0ada\0" + SECRET.encode(), version).error_code == 0
        assert metadata(client)
        assert handshake(client) == ILLEGAL_STATE  # nothing is left to prove


def test_after_the_oldest_handshake_the_token_comes_alone(sasl_lab: Lab) -> None:
    with Client(port(sasl_lab)) as client:
        assert handshake(client, version=0) == 0
        token = b"ada\0ada\0" + SECRET.encode()
        client.socket.sendall(len(token).to_bytes(4, "big") + token)
        assert client.receive() == b""
        assert metadata(client)


@pytest.mark.parametrize(
    "token",
    [
        b"\0ada\0wrong",
        b"\0ada\0",
        b"\0nobody\0" + SECRET.encode(),
        b"\0nobody\0",
        b"bob\0ada\0" + SECRET.encode(),  # for another
        b"ada",
        b"\0ada\0" + SECRET.encode() + b"\0",
        b"\0\xff\0\xff",
    ],
)
def test_any_other_client_is_refused_and_its_connection_ends(sasl_lab: Lab, token: bytes) -> None:
    with Client(port(sasl_lab)) as client:
        assert handshake(client) == 0
        answer = prove(client, token)
        assert answer.error_code == FAILED
        assert SECRET not in (answer.error_message or "")
        assert client.is_closed()


def test_requests_before_authentication_end_the_connection(sasl_lab: Lab) -> None:
    for greeted in (False, True):
        with Client(port(sasl_lab)) as client:
            if greeted:
                assert handshake(client) == 0
            client.send(MetadataRequest(topics=[]), 9)
            assert client.is_closed()
    with Client(port(sasl_lab)) as client:
        client.send(SaslAuthenticateRequest(auth_bytes=b"\0ada\0" + SECRET.encode()), 2)
        assert client.is_closed()


def test_another_mechanism_is_refused_and_the_right_one_named(sasl_lab: Lab) -> None:
    with Client(port(sasl_lab)) as client:
        request = SaslHandshakeRequest(mechanism="SCRAM-SHA-256")
        answer = client.ask(request, SaslHandshakeResponse)
        assert (answer.error_code, answer.mechanisms) == (UNSUPPORTED_MECHANISM, ["PLAIN"])
        assert client.is_closed()


def test_a_lab_without_users_refuses_the_exchange(quiet_lab: Lab) -> None:
    with Client(port(quiet_lab)) as client:
        assert handshake(client) == ILLEGAL_STATE
        assert prove(client, b"\0ada\0x").error_code == ILLEGAL_STATE
        assert metadata(client)


# ---- clients ------------------------------------------------------------------------------------


def confluent(lab: Lab, password: str) -> AdminClient:
    return AdminClient(
        {
            "bootstrap.servers": lab.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "ada",
            "sasl.password": password,
            "log_level": 0,
        }
    )


def test_confluents_client_authenticates(sasl_lab: Lab) -> None:
    assert set(confluent(sasl_lab, SECRET).list_topics(timeout=10).brokers) == {0, 1}
    with pytest.raises(KafkaException):
        confluent(sasl_lab, "wrong").list_topics(timeout=1)


def test_kedges_own_client_authenticates(sasl_lab: Lab) -> None:
    admin = KafkaAdmin(sasl_lab.bootstrap_servers, access_from(properties(SECRET)))
    try:
        assert len(admin.describe().brokers) == 2
    finally:
        admin.close()
    with pytest.raises(AuthenticationFailed):
        KafkaAdmin(sasl_lab.bootstrap_servers, access_from(properties("wrong"))).describe()


def properties(password: str) -> dict[str, str]:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{module} required username="ada" password="{password}";',
    }


# ---- the users' file ----------------------------------------------------------------------------


def test_a_users_file_has_a_name_and_a_password_in_each_line(tmp_path: Path) -> None:
    assert read_users(users_file(tmp_path)) == {"ada": SECRET, "bob": "staple"}


@pytest.mark.parametrize("text", ["", "# nobody\n", "ada\n", ":x\n", "ada:\n", "a:x\na:y\n"])
def test_a_damaged_users_file_is_refused_without_being_quoted(tmp_path: Path, text: str) -> None:
    with pytest.raises(MalformedInput) as refused:
        read_users(users_file(tmp_path, text))
    assert "x" not in refused.value.what.split("line")[-1]


def test_a_users_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = users_file(tmp_path)
    path.chmod(0o644)
    with pytest.raises(InvalidRequest, match="other users can read"):
        read_users(path)


@pytest.mark.parametrize(
    ("host", "users", "warns"),
    [
        ("127.0.0.1", "", ""),
        ("127.9.9.9", "", ""),
        ("::1", "", ""),
        ("localhost", "", ""),
        ("0.0.0.0", "", "without authentication"),
        ("192.0.2.7", "", "without authentication"),
        ("0.0.0.0", "users", "unencrypted"),
        ("lab.example", "", "without authentication"),
    ],
)
def test_a_lab_that_other_machines_reach_is_warned_of(host: str, users: str, warns: str) -> None:
    said = exposure(LabSettings(host=host, sasl_users=users))
    assert (warns in said) if warns else said == ""


# ---- files --------------------------------------------------------------------------------------


def test_the_lab_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    place = tmp_path / "lab"
    before = os.umask(0)
    try:
        with detached(place, "--brokers", 1):
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in place.iterdir()}
    finally:
        os.umask(before)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {"lab.json", "lab.pid", "lab.log", "lab.lock", "store", "control.sock"} <= set(modes)
    assert set(modes.values()) == {0o600}, modes


@pytest.mark.parametrize("name", ["lab.json", "store", "store.lock", "lab.lock", "logs.json"])
def test_a_link_in_the_directory_is_not_followed(tmp_path: Path, name: str) -> None:
    place, elsewhere = tmp_path / "lab", tmp_path / "elsewhere"
    with Lab.running(LabSettings(brokers=1), place):
        pass
    if (place / name).exists():
        (place / name).rename(elsewhere)
    else:
        elsewhere.write_bytes(b"")
    content = elsewhere.read_bytes()
    (place / name).symlink_to(elsewhere)
    refused = kedge("lab", "up", "--dir", place, "--detach")
    assert refused.returncode == 2, refused.stderr
    assert "symbolic link" in refused.stderr
    assert elsewhere.read_bytes() == content


def test_a_log_that_is_a_link_is_not_written_to(tmp_path: Path) -> None:
    place, elsewhere = tmp_path / "lab", tmp_path / "elsewhere"
    place.mkdir()
    elsewhere.write_bytes(b"kept")
    (place / "lab.log").symlink_to(elsewhere)
    refused: Any = kedge("lab", "up", "--dir", place, "--brokers", 1, "--detach")
    assert refused.returncode == 2, refused.stderr
    assert elsewhere.read_bytes() == b"kept"
