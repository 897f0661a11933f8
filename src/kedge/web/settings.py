"""The settings of a server: one TOML file, and options of the command that replace some of it.

    [server]
    host = "127.0.0.1"
    port = 8080
    database = "sqlite:////var/lib/kedge/kedge.db"
    read_only = false

    [clusters.orders]
    bootstrap_servers = "kafka-1:9092,kafka-2:9092"
    command_config = "/etc/kedge/orders.properties"
    state = "cluster"

    [clusters.orders.loads]       # rates of partitions
    prometheus = "http://prometheus:9090"

    [clusters.orders.policy]      # of the loop: see the guide
    mode = "propose"

    [cost.per_gb]                 # prices, for the history of costs
    stored_month = 0.08

    [retention]                   # in days; 0 keeps them for good
    audit_days = 365

    [oidc]
    issuer = "https://login.example.com"
    client_id = "kedge"
    client_secret_file = "/etc/kedge/oidc-secret"
    [oidc.roles.kafka-operators]
    "*" = "apply"

Names that are not known are refused: a misspelt limit must not silently be none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from kedge.analytics.cost import Rates, parse_rates
from kedge.errors import InvalidRequest, MalformedInput
from kedge.files import read_text, with_path_context
from kedge.files.toml_files import read_toml
from kedge.model.parse_amounts import duration_s
from kedge.watch.policy import Policy
from kedge.watch.policy_toml import policy_from
from kedge.web.access.roles import Role, parse_grants

UNITS = {"m": 60.0, "h": 3600.0, "d": 86_400.0}
STATISTICS = ("p50", "p95", "max", "mean")  # those of `kedge plan --prometheus`
LOOPBACK = ("127.0.0.1", "::1", "localhost")
CLUSTER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """Where the rates of partitions come from, of which time, and how often they are read."""

    prometheus: str
    match: str = ""  # only series with these labels
    auth: Path | None = None  # a file with username and password, or token
    ca: Path | None = None
    mapping: Path | None = None  # a TOML file with the series of other exporter rules
    range: str = "1h"
    statistic: str = "mean"
    every_s: float = 300.0

    @property
    def range_s(self) -> float:
        """The time that rates are taken of, in seconds."""
        found = duration_s(self.range, UNITS)
        assert found is not None, self.range
        return found


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """How one cluster is reached, where its runs are kept, and how often it is read."""

    name: str
    bootstrap_servers: str
    command_config: Path | None = None
    state: str = "cluster"  # where runs are kept: in the cluster, or in this directory
    sample_s: float = 5.0
    policy: Policy = field(default_factory=Policy)  # of the loop
    loads: LoadSettings | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What clients may ask of the server."""

    body_bytes: int = 1_000_000
    requests_per_minute: int = 1_200
    sign_ins_per_minute: int = 20
    streams: int = 200
    streams_per_account: int = 100
    waiting_jobs: int = 20


@dataclass(frozen=True, slots=True)
class Retention:
    """For how many days rows are kept in the database; 0 keeps them for good."""

    audit_days: float = 365.0
    documents_days: float = 90.0  # plans, snapshots, predictions, ended jobs and proposals


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """The identity provider, and the roles of its groups."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    groups_claim: str = "groups"
    name_claim: str = "preferred_username"
    scopes: str = "openid profile"
    roles: Mapping[str, Mapping[str, Role]] = field(default_factory=dict[str, Mapping[str, Role]])


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Everything that a server is started with."""

    clusters: Mapping[str, ClusterSettings]
    host: str = "127.0.0.1"
    port: int = 8080
    database: str = ""
    read_only: bool = False
    public_url: str = ""
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    trusted_proxies: str = ""
    limits: Limits = field(default_factory=Limits)
    retention: Retention = field(default_factory=Retention)
    oidc: OidcSettings | None = None
    cost: Rates | None = None

    def __post_init__(self) -> None:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise InvalidRequest(
                "TLS needs a certificate and its key", hint="set tls_certificate and tls_key"
            )

    @property
    def secure(self) -> bool:
        """Whether browsers reach the server by TLS, its own or that of a proxy before it."""
        return self.tls_certificate is not None or self.public_url.startswith("https://")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK


def read_settings(path: Path) -> ServerSettings:
    """The settings of a file."""
    document = read_toml(path)
    with with_path_context(path):
        return settings_of(document, path.parent)


def settings_of(document: Mapping[str, Any], base: Path) -> ServerSettings:
    """The settings of a parsed file; paths are relative to it."""
    _known(document, ("server", "limits", "retention", "oidc", "clusters", "cost"), "the file")
    clusters = {
        name: _cluster(name, table, base) for name, table in document.get("clusters", {}).items()
    }
    server = _values(ServerSettings, document.get("server", {}), "server", base)
    given_limits = _values(Limits, document.get("limits", {}), "limits", base)
    retention = Retention(**_values(Retention, document.get("retention", {}), "retention", base))
    settings = ServerSettings(clusters, limits=Limits(**given_limits), retention=retention)
    settings = replace(settings, **server)
    if "oidc" in document:
        settings = replace(settings, oidc=_oidc(document["oidc"], base))
    if "cost" in document:
        settings = replace(settings, cost=parse_rates(document["cost"]))
    return settings


def check_cluster_name(name: str) -> None:
    """Refuse names of clusters that are not safe in paths and URLs."""
    if CLUSTER_NAME.fullmatch(name) is None:
        raise InvalidRequest(
            f"{name!r} cannot name a cluster", hint="use letters, digits, '.', '_' and '-'"
        )


def _cluster(name: str, table: Mapping[str, Any], base: Path) -> ClusterSettings:
    check_cluster_name(name)
    rest = {key: value for key, value in table.items() if key not in ("policy", "loads")}
    values = _values(ClusterSettings, rest, f"clusters.{name}", base)
    if not values.get("bootstrap_servers"):
        raise MalformedInput("bootstrap_servers is missing", place=f"clusters.{name}")
    policy = policy_from(_with_floats(table.get("policy", {})), f"clusters.{name}.policy")
    loads = _loads(table["loads"], f"clusters.{name}.loads", base) if "loads" in table else None
    return ClusterSettings(name, **values, policy=policy, loads=loads)


def _loads(table: Mapping[str, Any], place: str, base: Path) -> LoadSettings:
    values = _values(LoadSettings, table, place, base)
    if not values.get("prometheus"):
        raise MalformedInput("prometheus is missing", place=place)
    loads = LoadSettings(**values)
    if not duration_s(loads.range, UNITS):
        raise MalformedInput(
            f"{loads.range!r} is no time", place=f"{place}.range", hint="write it like 30m or 6h"
        )
    if loads.statistic not in STATISTICS:
        raise MalformedInput(
            f"unknown load {loads.statistic!r}",
            place=f"{place}.statistic",
            hint=f"use {', '.join(STATISTICS)}",
        )
    if not loads.every_s:
        raise MalformedInput("0 seconds between two reads", place=f"{place}.every_s")
    return loads


def _with_floats(value: Any) -> Any:
    """A parsed document with plain numbers in place of decimals."""
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {name: _with_floats(each) for name, each in table.items()}
    if isinstance(value, list):
        return [_with_floats(each) for each in cast("list[Any]", value)]
    return float(value) if isinstance(value, Decimal) else value


def _oidc(table: Mapping[str, Any], base: Path) -> OidcSettings:
    values = dict(table)
    secret_file = values.pop("client_secret_file", None)
    roles = {
        group: parse_grants(grants, f"oidc.roles.{group}")
        for group, grants in values.pop("roles", {}).items()
    }
    known = _values(OidcSettings, values, "oidc", base)
    for name in ("issuer", "client_id"):
        if not known.get(name):
            raise MalformedInput(f"{name} is missing", place="oidc")
    if secret_file is not None:
        known["client_secret"] = read_text(base / str(secret_file)).strip()
    return OidcSettings(**known, roles=roles)


# ---- one table of the file -----------------------------------------------------------------------

COMPOSED = ("clusters", "limits", "retention", "oidc", "cost", "name", "roles", "policy", "loads")


def _values(kind: type, table: Mapping[str, Any], place: str, base: Path) -> dict[str, Any]:
    types = {each.name: str(each.type) for each in fields(kind) if each.name not in COMPOSED}
    _known(table, types, place)
    return {name: _value(table[name], types[name], f"{place}.{name}", base) for name in table}


def _known(
    table: Mapping[str, Any], names: Mapping[str, Any] | tuple[str, ...], place: str
) -> None:
    if unknown := sorted(set(table) - set(names)):
        raise MalformedInput(
            f"unknown setting {unknown[0]!r}",
            place=place,
            hint=f"known: {', '.join(sorted(names))}",
        )


def _value(value: Any, kind: str, place: str, base: Path) -> Any:
    if isinstance(value, Decimal):
        value = float(value)
    if kind.startswith("Path") and isinstance(value, str):
        return base / value
    wanted = {"bool": bool, "int": int, "float": (int, float)}.get(kind.split(" ")[0], str)
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise MalformedInput(f"{value!r} is not of the type {kind}", place=place)
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
        raise MalformedInput(f"{value} is below 0", place=place)
    return value
