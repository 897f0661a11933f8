"""Reads how to reach a cluster and authenticate there from Kafka's client properties.

`access_from` reads the file of `--command-config`. Settings that an admin client does not use are
passed over, as Kafka's tools do; settings that it cannot honour are refused in one sentence.
Secrets live in `Secret`, which shows three dots wherever it is printed.

| setting                                    | meaning                                        |
|--------------------------------------------|------------------------------------------------|
| security.protocol                          | PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL       |
| sasl.mechanism, sasl.jaas.config           | PLAIN, SCRAM-SHA-256, SCRAM-SHA-512            |
| ssl.truststore.location, .password         | trusted certificates: PEM, JKS or PKCS12       |
| ssl.truststore.certificates                | the same as PEM text                           |
| ssl.keystore.location, .password           | own key and certificate: PEM or PKCS12         |
| ssl.keystore.key, .certificate.chain       | the same as PEM text                           |
| ssl.key.password                           | opens the key where it has its own password    |
| ssl.endpoint.identification.algorithm      | empty: the name in the certificate is no matter |
| client.id                                  | the client's name in the brokers' logs         |
| request.timeout.ms, default.api.timeout.ms | for one answer, and for a whole call           |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kedge.errors import InvalidRequest, MalformedInput

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

_JAAS = re.compile(r"\s*(?P<module>[\w.$]+)\s+(?P<flag>\w+)\s*(?P<options>.*?)\s*;\s*", re.DOTALL)
_OPTION = re.compile(r"([\w.]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s\";]+))\s*")


class Secret:
    """A text that its repr and str hide."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __repr__(self) -> str:
        return "…"

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


NO_SECRET = Secret()


@dataclass(frozen=True, slots=True)
class Store:
    """Certificates (and perhaps a key), in a file or given as PEM text."""

    location: str = ""
    password: Secret = NO_SECRET
    certificates: str = ""
    key: Secret = NO_SECRET
    key_password: Secret = NO_SECRET

    def __bool__(self) -> bool:
        return bool(self.location or self.certificates)


@dataclass(frozen=True, slots=True)
class Access:
    """How to connect to a cluster."""

    protocol: str = "PLAINTEXT"
    mechanism: str = ""
    username: str = ""
    password: Secret = NO_SECRET
    trusted: Store = Store()
    identity: Store = Store()
    check_hostname: bool = True
    client_id: str = "kedge"
    request_timeout_ms: int = 30_000
    call_timeout_ms: int = 60_000

    @property
    def tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.protocol.endswith("SSL")

    @property
    def sasl(self) -> bool:
        """Whether SASL authentication is needed."""
        return self.protocol.startswith("SASL")


PLAIN_ACCESS = Access()


def access_from(settings: Mapping[str, str]) -> Access:
    """Read client settings."""
    protocol = settings.get("security.protocol", "PLAINTEXT").strip().upper()
    _one_of("security.protocol", protocol, PROTOCOLS)
    mechanism, username, password = _sasl(settings) if "SASL" in protocol else ("", "", NO_SECRET)
    algorithm = settings.get("ssl.endpoint.identification.algorithm", "https").strip()
    return Access(
        protocol,
        mechanism,
        username,
        password,
        _trusted(settings),
        _identity(settings),
        check_hostname=bool(algorithm),
        client_id=settings.get("client.id", "kedge") or "kedge",
        request_timeout_ms=_milliseconds(settings, "request.timeout.ms", 30_000),
        call_timeout_ms=_milliseconds(settings, "default.api.timeout.ms", 60_000),
    )


def _trusted(settings: Mapping[str, str]) -> Store:
    return Store(
        settings.get("ssl.truststore.location", ""),
        Secret(settings.get("ssl.truststore.password", "")),
        settings.get("ssl.truststore.certificates", ""),
    )


def _identity(settings: Mapping[str, str]) -> Store:
    return Store(
        settings.get("ssl.keystore.location", ""),
        Secret(settings.get("ssl.keystore.password", "")),
        settings.get("ssl.keystore.certificate.chain", ""),
        Secret(settings.get("ssl.keystore.key", "")),
        Secret(settings.get("ssl.key.password", "")),
    )


def _sasl(settings: Mapping[str, str]) -> tuple[str, str, Secret]:
    mechanism = settings.get("sasl.mechanism", "GSSAPI").strip()
    _one_of("sasl.mechanism", mechanism, MECHANISMS)
    jaas = settings.get("sasl.jaas.config", "")
    if not jaas.strip():
        raise InvalidRequest(
            "security.protocol needs SASL and sasl.jaas.config is missing",
            hint='write …LoginModule required username="…" password="…";',
        )
    options = parse_jaas(jaas)
    missing = [name for name in ("username", "password") if name not in options]
    if missing:
        raise MalformedInput(f"{' and '.join(missing)} missing", place="sasl.jaas.config")
    return mechanism, options["username"], Secret(options["password"])


def parse_jaas(text: str) -> dict[str, str]:
    """The options of a `sasl.jaas.config`. Faults do not quote the text."""
    whole = _JAAS.fullmatch(text)
    if whole is None:
        raise MalformedInput(
            "does not read as a login module",
            place="sasl.jaas.config",
            hint='write …LoginModule required username="…" password="…";',
        )
    options, rest = whole["options"], 0
    found: dict[str, str] = {}
    while rest < len(options):
        option = _OPTION.match(options, rest)
        if option is None:
            raise MalformedInput(
                f"option {len(found) + 1} is not of the form name=value",
                place="sasl.jaas.config",
                hint="quote values, and put a backslash before a quote inside",
            )
        quoted, bare = option.group(2), option.group(3)
        found[option.group(1)] = bare if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        rest = option.end()
    return found


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InvalidRequest(
            f"{name} {value!r} is not supported here", hint=f"use one of {', '.join(allowed)}"
        )


def _milliseconds(settings: Mapping[str, str], name: str, default: int) -> int:
    text = settings.get(name, "").strip() or str(default)
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:12]) < 2**31:
        raise MalformedInput(f"{text[:20]!r} is not a number of milliseconds", place=name)
    return int(text)
