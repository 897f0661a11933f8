"""The settings of a server as it would use them, every default included, with secrets masked."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from kedge.database import shown_url
from kedge.watch.policy_toml import policy_text
from kedge.web.audit import MASK
from kedge.web.settings import ClusterSettings, OidcSettings, ServerSettings

Table = dict[str, Any]
COMPOSED = ("clusters", "limits", "retention", "oidc", "cost")


def settings_row(settings: ServerSettings, database: str) -> Table:
    """The settings for programs; `database` is the one that is used where none is named."""
    server = {
        each.name: _plain(getattr(settings, each.name))
        for each in fields(settings)
        if each.name not in COMPOSED
    }
    server["database"] = shown_url(settings.database or database)
    row: Table = {"server": server, "limits": _table(settings.limits)}
    row["retention"] = _table(settings.retention)
    row["clusters"] = {name: _cluster(each) for name, each in settings.clusters.items()}
    if settings.oidc is not None:
        row["oidc"] = _oidc(settings.oidc)
    if settings.cost is not None:
        rates = settings.cost
        prices = {name: str(rate) for name, rate in rates.per_gb.items()}
        row["cost"] = {"currency": rates.currency, "per_gb": prices}
    return row


def _cluster(settings: ClusterSettings) -> Table:
    table = _table(settings)
    del table["name"]
    table["policy"] = policy_text(settings.policy)
    if settings.loads is not None:
        table["loads"] = _table(settings.loads)
        table["loads"]["prometheus"] = without_userinfo(settings.loads.prometheus)
    return table


def without_userinfo(url: str) -> str:
    """An address with its user and password masked."""
    scheme, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    return f"{scheme}{separator}{MASK if user else ''}{at}{host}{slash}{path}"


def _oidc(settings: OidcSettings) -> Table:
    table = _table(settings)
    table["client_secret"] = MASK if settings.client_secret else ""
    table["roles"] = {
        group: {cluster: str(role) for cluster, role in grants.items()}
        for group, grants in settings.roles.items()
    }
    return table


def _table(value: Any) -> Table:
    return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def settings_lines(row: Table, name: str = "") -> list[str]:
    """The same as lines of TOML; what is not set is left out, and policies are indented."""
    values = {key: value for key, value in row.items() if not isinstance(value, dict)}
    lines = [f"[{name}]"] if name and values else []
    for key, value in values.items():
        if key == "policy":
            lines += ["", f"[{name}.policy]", *_policy_lines(value, name)]
        elif value is not None:
            lines.append(f"{_key(key)} = {_toml(value)}")
    for key, value in row.items():
        if isinstance(value, dict):
            table = cast("Table", value)
            lines += ["", *settings_lines(table, f"{name}.{_key(key)}" if name else _key(key))]
    return lines


def _policy_lines(text: str, name: str) -> list[str]:
    """The lines of a policy, whose tables are below its cluster."""
    return [
        line.replace("[[", f"[[{name}.policy.").replace("[budget]", f"[{name}.policy.budget]")
        if line.startswith("[[") or line == "[budget]"
        else line.replace("[detect]", f"[{name}.policy.detect]")
        for line in text.strip().splitlines()
    ]


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() else f'"{key}"'


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value}"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
