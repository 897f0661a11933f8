"""TLS and SASL on the listener of controllers, from Kafka's own properties.

A controller is server and client of the same listener: brokers and other controllers connect to it,
and it connects to other controllers. Kafka configures both sides by the same properties, of which
those with the prefix `listener.name.<listener>.` come first:

| setting                               | meaning                                               |
|---------------------------------------|-------------------------------------------------------|
| listener.security.protocol.map        | PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL            |
| ssl.keystore.*, ssl.key.password      | this node's key and certificate: PEM or PKCS12        |
| ssl.truststore.*                      | certificates to trust: PEM, JKS or PKCS12             |
| ssl.client.auth                       | of those who connect: none, requested or required     |
| ssl.endpoint.identification.algorithm | empty: the name in a certificate is no matter         |
| sasl.mechanism.controller.protocol    | PLAIN                                                 |
| sasl.enabled.mechanisms               | has PLAIN                                             |
| plain.sasl.jaas.config                | `user_NAME`: the known users; `username`: this node   |
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from kedge.cluster.access import NO_SECRET, Access, Secret, access_from, parse_jaas
from kedge.cluster.tls import server_tls_context, tls_context
from kedge.errors import InvalidConfiguration

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")  # by Kafka's numbers
MECHANISM = "PLAIN"
_CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_KNOWN_USER = "user_"


@dataclass(frozen=True, slots=True)
class Login:
    """What a node says of itself where SASL/PLAIN is spoken."""

    username: str
    password: Secret

    @property
    def token(self) -> bytes:
        """The token of RFC 4616, without an authorization identity."""
        return b"\0" + self.username.encode() + b"\0" + self.password.reveal().encode()


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """How connections of one listener are encrypted and authenticated, on both of their sides."""

    protocol: str = "PLAINTEXT"
    server: ssl.SSLContext | None = None
    client: ssl.SSLContext | None = None
    users: Mapping[str, str] | None = None  # passwords by name; None: no SASL
    login: Login | None = None

    @property
    def number(self) -> int:
        """The protocol in requests and records."""
        return PROTOCOLS.index(self.protocol)


PLAINTEXT = ListenerSecurity()


def security_of(values: Mapping[str, str], listener: str) -> ListenerSecurity:
    """The security of a listener; refuses what this node cannot keep up."""
    protocol = _protocol(values, listener)
    settings = _Settings(values, listener)
    server = client = users = login = None
    if protocol.endswith("SSL"):
        access = _access(settings, protocol)
        server, client = server_tls_context(access, _client_auth(settings)), tls_context(access)
    if protocol.startswith("SASL"):
        users, login = _plain(settings)
    return ListenerSecurity(protocol, server, client, users, login)


class _Settings:
    """Properties as one listener sees them."""

    def __init__(self, values: Mapping[str, str], listener: str) -> None:
        self._values = values
        self.prefix = f"listener.name.{listener.lower()}."

    def get(self, name: str, default: str = "") -> str:
        return self._values.get(self.prefix + name, self._values.get(name, default)).strip()

    def starting(self, start: str) -> dict[str, str]:
        """All settings that start so, by their names without the listener's prefix."""
        common = {name: value for name, value in self._values.items() if name.startswith(start)}
        own = {
            name.removeprefix(self.prefix): value
            for name, value in self._values.items()
            if name.startswith(self.prefix + start)
        }
        return {**common, **own}


def _protocol(values: Mapping[str, str], listener: str) -> str:
    parts = [part.strip() for part in values.get("listener.security.protocol.map", "").split(",")]
    named = {
        name.strip().upper(): protocol.strip().upper()
        for name, colon, protocol in (part.partition(":") for part in parts)
        if colon
    }
    default = listener.upper() if listener.upper() in PROTOCOLS and not named else "PLAINTEXT"
    protocol = named.get(listener.upper(), default)
    if protocol not in PROTOCOLS:
        raise InvalidConfiguration(
            f"the listener {listener} has the protocol {protocol}",
            hint=f"one of {', '.join(PROTOCOLS)}",
        )
    return protocol


def _access(settings: _Settings, protocol: str) -> Access:
    access = access_from(settings.starting("ssl."))
    if not access.identity:
        raise InvalidConfiguration(
            f"the protocol is {protocol}, and there is no key",
            hint=f"set {settings.prefix}ssl.keystore.location",
        )
    return access


def _client_auth(settings: _Settings) -> ssl.VerifyMode:
    wanted = settings.get("ssl.client.auth", "none").lower()
    if wanted not in _CLIENT_AUTH:
        raise InvalidConfiguration(
            f"ssl.client.auth is {wanted!r}", hint=f"one of {', '.join(_CLIENT_AUTH)}"
        )
    return _CLIENT_AUTH[wanted]


def _plain(settings: _Settings) -> tuple[dict[str, str], Login]:
    _refuse_other_mechanisms(settings)
    name = f"{settings.prefix}plain.sasl.jaas.config"
    jaas = settings.get("plain.sasl.jaas.config") or settings.get("sasl.jaas.config")
    if not jaas:
        raise InvalidConfiguration(
            f"the listener has SASL, and {name} is not set",
            hint='as in …PlainLoginModule required username="…" password="…" user_…="…";',
        )
    options = parse_jaas(jaas)
    if "username" not in options or "password" not in options:
        raise InvalidConfiguration(
            f"{name} has no username and password",
            hint="they are what this node says of itself to other controllers",
        )
    known = {
        option.removeprefix(_KNOWN_USER): password
        for option, password in options.items()
        if option.startswith(_KNOWN_USER)
    }
    return known, Login(options["username"], Secret(options["password"]) or NO_SECRET)


def _refuse_other_mechanisms(settings: _Settings) -> None:
    own = settings.get("sasl.mechanism.controller.protocol", "GSSAPI")
    if own.upper() != MECHANISM:
        raise InvalidConfiguration(
            f"sasl.mechanism.controller.protocol is {own}", hint="PLAIN is supported"
        )
    offered = settings.get("sasl.enabled.mechanisms", "GSSAPI").upper().split(",")
    if MECHANISM not in map(str.strip, offered):
        raise InvalidConfiguration(
            f"sasl.enabled.mechanisms is {','.join(offered)}", hint="PLAIN is supported"
        )
