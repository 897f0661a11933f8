"""Roles on clusters: read < plan < apply < admin, and who holds which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kedge.errors import MalformedInput, PermissionDenied, UnknownResource

EVERY_CLUSTER = "*"


class Role(StrEnum):
    """What an account may do; each role includes those before it."""

    READ = "read"
    PLAN = "plan"
    APPLY = "apply"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """The place in the sequence of roles."""
        return list(Role).index(self)

    def includes(self, other: Role) -> bool:
        """Whether this role may do what the other may."""
        return self.rank >= other.rank


Grants = Mapping[str, Role]


def parse_grants(document: Mapping[str, Any], place: str) -> dict[str, Role]:
    """The roles by cluster (`*`: all of them) as JSON or TOML has them."""
    grants: dict[str, Role] = {}
    for cluster, role in document.items():
        try:
            grants[cluster] = Role(role)
        except ValueError as error:
            known = ", ".join(Role)
            raise MalformedInput(f"{role!r} is not a role", place=place, hint=known) from error
    return grants


def merged(first: Grants, second: Grants) -> dict[str, Role]:
    """The higher role of both for each cluster."""
    result = dict(first)
    for cluster, role in second.items():
        if cluster not in result or not result[cluster].includes(role):
            result[cluster] = role
    return result


def grants_of(groups: Iterable[str], roles: Mapping[str, Grants]) -> dict[str, Role]:
    """The roles of all groups together."""
    grants: dict[str, Role] = {}
    for group in groups:
        grants = merged(grants, roles.get(group, {}))
    return grants


@dataclass(frozen=True, slots=True)
class Principal:
    """An account that was authenticated: by a token, or by the session of a browser."""

    name: str
    grants: Grants
    session: str | None = None  # the digest of the session, if a cookie authenticated it
    csrf: str = ""
    token_id: str | None = None
    groups: tuple[str, ...] | None = None  # at the identity provider, if it signed the person in

    def role_on(self, cluster: str) -> Role | None:
        """The role on one cluster; None where it is not to be seen."""
        found = [self.grants[name] for name in (cluster, EVERY_CLUSTER) if name in self.grants]
        return max(found, key=lambda role: role.rank, default=None)

    def require(self, role: Role, cluster: str) -> None:
        """Refuse what the account may not do on a cluster.

        Raises:
            UnknownResource: the account may not know of the cluster.
            PermissionDenied: its role does not suffice.
        """
        own = self.role_on(cluster)
        if own is None:
            raise UnknownResource(f"No cluster {cluster!r} is known")
        if not own.includes(role):
            raise PermissionDenied(
                f"{self.name} has the role {own} on {cluster}, and this needs {role}",
                hint="ask an administrator of this server",
            )

    def require_everywhere(self, role: Role) -> None:
        """Refuse what concerns the whole server to accounts of single clusters."""
        own = self.grants.get(EVERY_CLUSTER)
        if own is None or not own.includes(role):
            raise PermissionDenied(
                f"{self.name} lacks the role {role} on all clusters",
                hint="ask an administrator of this server",
            )
