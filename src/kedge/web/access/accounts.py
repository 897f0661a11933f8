"""Tokens and sessions: made, found by their secret, listed and revoked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import delete, func, select, update

from kedge.database import FIRST_TOKEN_LOCK, Database
from kedge.errors import NotAuthenticated, UnknownResource
from kedge.web.access.roles import (
    EVERY_CLUSTER,
    Grants,
    Principal,
    Role,
    grants_of,
    parse_grants,
)
from kedge.web.access.secrets import TOKEN_PREFIX, digest_of, new_id, new_secret
from kedge.web.tables import SessionRow, TokenRow

SESSION_S = 12 * 3600.0
ADMINISTRATOR: Grants = {EVERY_CLUSTER: Role.ADMIN}
OIDC = "oidc"  # the kind of sessions that an identity provider has signed in
OPERATOR = "the command line"
USED_EVERY_S = 60.0  # how exactly the last use of a token is known


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token at the only moment at which it can be read."""

    id: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session at the only moment at which its cookie can be read."""

    cookie: str = field(repr=False)
    csrf: str = field(repr=False)
    expires_at: float


class Accounts:
    """The tokens and sessions of a database; `roles` are those of groups, by the settings."""

    def __init__(self, database: Database, roles: Mapping[str, Grants] | None = None) -> None:
        self._database, self._roles = database, roles or {}

    # ---- tokens ---------------------------------------------------------------------------------

    def first_token(self) -> NewToken | None:
        """The token of the first administrator; None where the database has tokens already.

        Of servers that start at once on a new database one makes it.
        """
        with self._database.begin_alone(FIRST_TOKEN_LOCK) as session:
            if session.scalar(select(func.count()).select_from(TokenRow)):
                return None
            row, token = self._new_token("admin", ADMINISTRATOR, by=OPERATOR)
            session.add(row)
        return token

    def new_admin_token(self) -> NewToken:
        """A token of an administrator of all clusters, for the operator of this machine."""
        return self.create_token("admin", ADMINISTRATOR, by=OPERATOR)

    def create_token(
        self, name: str, grants: Grants, *, by: str, expires_at: float | None = None
    ) -> NewToken:
        """A new token, whose secret is returned here and never again."""
        row, token = self._new_token(name, grants, by=by, expires_at=expires_at)
        with self._database.begin() as session:
            session.add(row)
        return token

    def _new_token(
        self, name: str, grants: Grants, *, by: str, expires_at: float | None = None
    ) -> tuple[TokenRow, NewToken]:
        token_id = new_id()
        secret = f"{TOKEN_PREFIX}_{token_id}_{new_secret()}"
        row = TokenRow(
            id=token_id,
            name=name,
            digest=digest_of(secret),
            grants={cluster: str(role) for cluster, role in grants.items()},
            created_at=self._database.clock(),
            created_by=by,
            expires_at=expires_at,
        )
        return row, NewToken(token_id, secret)

    def tokens(self) -> list[TokenRow]:
        """Every token that was not revoked, oldest first."""
        wanted = select(TokenRow).where(TokenRow.revoked_at.is_(None)).order_by(TokenRow.created_at)
        with self._database.read() as session:
            return list(session.scalars(wanted))

    def revoke_token(self, token_id: str) -> TokenRow:
        """End a token and the sessions that it has signed in."""
        with self._database.begin() as session:
            row = session.get(TokenRow, token_id)
            if row is None or row.revoked_at is not None:
                raise UnknownResource(f"No token has the id {token_id!r}")
            row.revoked_at = self._database.clock()
            session.execute(delete(SessionRow).where(SessionRow.token_id == token_id))
        return row

    def by_token(self, secret: str) -> Principal:
        """The account of a token.

        Raises:
            NotAuthenticated: no token, or one that was revoked or has expired.
        """
        now = self._database.clock()
        with self._database.read() as session:
            row = session.scalar(select(TokenRow).where(TokenRow.digest == digest_of(secret)))
        if row is None or not _is_valid(row, now):
            raise NotAuthenticated("The token is unknown, revoked or expired")
        if row.used_at is None or now - row.used_at > USED_EVERY_S:
            with self._database.begin() as session:
                used = update(TokenRow).where(TokenRow.id == row.id).values(used_at=now)
                session.execute(used)
        grants = parse_grants(row.grants, "the token's grants")
        return Principal(f"{row.name} ({row.id})", grants, token_id=row.id)

    # ---- sessions -------------------------------------------------------------------------------

    def create_session(
        self, principal: Principal, kind: str, *, seconds: float = SESSION_S
    ) -> NewSession:
        """A session for a browser; the cookie is returned here and never again."""
        now, cookie, csrf = self._database.clock(), new_secret(), new_secret()
        row = SessionRow(
            digest=digest_of(cookie),
            name=principal.name,
            kind=kind,
            token_id=principal.token_id,
            grants=_grants_kept(principal),
            groups=None if principal.groups is None else list(principal.groups),
            csrf=csrf,
            created_at=now,
            expires_at=now + seconds,
        )
        with self._database.begin() as session:
            session.execute(delete(SessionRow).where(SessionRow.expires_at <= now))
            session.add(row)
        return NewSession(cookie, csrf, row.expires_at)

    def by_cookie(self, cookie: str) -> Principal:
        """The account of a browser's session.

        Raises:
            NotAuthenticated: no session, or one that has ended.
        """
        with self._database.read() as session:
            row = session.get(SessionRow, digest_of(cookie))
            token = None if row is None or row.token_id is None else row.token_id
            signed_in_by = None if token is None else session.get(TokenRow, token)
        now = self._database.clock()
        if row is None or row.expires_at <= now:
            raise NotAuthenticated("The session has ended", hint="sign in again")
        if signed_in_by is not None and not _is_valid(signed_in_by, now):
            raise NotAuthenticated("The token of this session has ended", hint="sign in again")
        grants = self.grants_of_session(row)
        if row.kind == OIDC and not grants:
            raise NotAuthenticated("No group of this session has a role now", hint="sign in again")
        return Principal(row.name, grants, row.digest, row.csrf, row.token_id)

    def grants_of_session(self, row: SessionRow) -> Grants:
        """The roles of a session: of its token, or those that its groups have now."""
        if row.kind == OIDC:
            return grants_of(row.groups or (), self._roles)
        return parse_grants(row.grants, "the session's grants")

    def sessions(self) -> list[SessionRow]:
        """Every session that has not expired, oldest first."""
        now = self._database.clock()
        wanted = select(SessionRow).where(SessionRow.expires_at > now)
        with self._database.read() as session:
            return list(session.scalars(wanted.order_by(SessionRow.created_at)))

    def revoke_session(self, session_id: str) -> SessionRow:
        """End a session of any browser."""
        found = [row for row in self.sessions() if session_id_of(row.digest) == session_id]
        if not found:
            raise UnknownResource(f"No session has the id {session_id!r}")
        with self._database.begin() as session:
            session.execute(delete(SessionRow).where(SessionRow.digest == found[0].digest))
        return found[0]

    def end_session(self, principal: Principal) -> None:
        """Sign a browser out."""
        with self._database.begin() as session:
            session.execute(delete(SessionRow).where(SessionRow.digest == principal.session))


def session_id_of(digest: str) -> str:
    """What names a session to administrators: neither its cookie nor the digest of that."""
    return digest_of(f"session {digest}")[:16]


def _grants_kept(principal: Principal) -> dict[str, str]:
    """The roles that a session keeps: none of groups, since changed settings hold at once."""
    if principal.groups is not None:
        return {}
    return {cluster: str(role) for cluster, role in principal.grants.items()}


def _is_valid(row: TokenRow, now: float) -> bool:
    return row.revoked_at is None and (row.expires_at is None or row.expires_at > now)
