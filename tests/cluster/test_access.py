"""Who we are and how we speak, from the settings of Kafka's clients."""

from __future__ import annotations

import contextlib
import pickle
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.cluster.access import Access, Secret, access_from, parse_jaas
from kedge.errors import InvalidRequest, KedgeError, MalformedInput

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SASL = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": f'{PLAIN} required username="ada" password="s3cret";',
}


def test_without_settings_the_door_is_open() -> None:
    access = access_from({})
    assert access == Access()
    assert not access.tls
    assert not access.sasl


def test_sasl_settings_are_read() -> None:
    access = access_from({**SASL, "client.id": "ops", "request.timeout.ms": "5"})
    assert (access.mechanism, access.username, access.password.reveal()) == (
        "PLAIN",
        "ada",
        "s3cret",
    )
    assert (access.tls, access.sasl, access.client_id) == (True, True, "ops")
    assert access.request_timeout_ms == 5


def test_secrets_do_not_show() -> None:
    settings = {**SASL, "ssl.truststore.password": "t0psecret", "ssl.keystore.key": "k3y"}
    shown = f"{access_from(settings)!r} {access_from(settings)!s} {Secret('s3cret')}"
    assert not [word for word in ("s3cret", "t0psecret", "k3y") if word in shown]


def test_the_host_name_counts_unless_the_algorithm_is_empty() -> None:
    assert access_from({}).check_hostname
    assert not access_from({"ssl.endpoint.identification.algorithm": ""}).check_hostname


def test_settings_that_no_admin_client_needs_are_passed_over() -> None:
    assert access_from({"acks": "all", "bootstrap.servers": "x:1"}) == Access()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"security.protocol": "TLS"}, "SASL_SSL"),
        ({**SASL, "sasl.mechanism": "GSSAPI"}, "SCRAM-SHA-512"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config"),
        ({**SASL, "sasl.jaas.config": f'{PLAIN} required username="a";'}, "password missing"),
        ({"request.timeout.ms": "soon"}, "request.timeout.ms"),
        ({"request.timeout.ms": "-1"}, "request.timeout.ms"),
    ],
)
def test_what_cannot_be_honoured_is_refused_in_one_sentence(
    settings: dict[str, str], named: str
) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        access_from(settings)
    assert named in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Module",
        f'{PLAIN} required username="ada" password="s3cret"',
        f'{PLAIN} required username="ada" password="s3cret;',
        f'{PLAIN} required password="s3cret" s3cret;',
        f"{PLAIN} required s3cret=;",
    ],
)
def test_a_login_that_does_not_read_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(MalformedInput) as refusal:
        parse_jaas(text)
    lines = traceback.format_exception_only(refusal.value)
    assert "s3cret" not in "".join(lines)


@given(st.text(min_size=1))
def test_any_password_survives_its_quotes(password: str) -> None:
    quoted = password.replace("\\", "\\\\").replace('"', '\\"')
    options = parse_jaas(f'{PLAIN} required username="ada" password="{quoted}";')
    assert options == {"username": "ada", "password": password}


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    with contextlib.suppress(KedgeError):
        parse_jaas(text)


def test_secrets_compare_by_what_they_hide() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert len({Secret("a"), Secret("a")}) == 1
    assert not Secret()
    assert pickle.loads(pickle.dumps(Secret("a"))).reveal() == "a"
