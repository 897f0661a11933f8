"""Sign-in at an identity provider: OpenID Connect's code flow with PKCE; groups give roles.

    /oidc/begin      state, nonce and verifier are drawn; the browser goes to the provider
    the provider     signs the person in, and sends the browser back with a code
    /oidc/callback   the code and the verifier are exchanged for an ID token, which is checked:
                     its signature by the provider's keys, issuer, audience, times, nonce

A sign-in is used once, by the browser that began it, within ten minutes.
"""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlencode

import httpx
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from kedge.database import Database
from kedge.errors import NotAuthenticated, PermissionDenied, Unavailable
from kedge.model.printable import printable
from kedge.web.access.roles import Principal, grants_of
from kedge.web.access.secrets import digest_of, new_secret
from kedge.web.settings import OidcSettings
from kedge.web.tables import SignInRow

SIGN_IN_S = 600.0
TIMEOUT_S = 10.0
LEEWAY_S = 30
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
KEYS_S = 3600.0
REREAD_S = 60.0  # keys that are not known cost the provider one request in this time
KEY_LENGTH, NAME_MAX = 16, 100
REFUSALS = (400, 401, 403)  # what RFC 6749 has for codes and clients that are not accepted


@dataclass(frozen=True, slots=True)
class SignIn:
    """A sign-in that has begun: where the browser goes, and the secret that it comes back with."""

    url: str
    state: str = field(repr=False)


class OidcClient:
    """One identity provider."""

    def __init__(self, settings: OidcSettings, database: Database) -> None:
        self._settings, self._database = settings, database
        self._http = httpx.Client(timeout=TIMEOUT_S, follow_redirects=False)
        self._lock = threading.Lock()
        self._known: dict[str, Any] | None = None
        self._keys: tuple[float, KeySet] | None = None
        self._reread_at = -REREAD_S

    def close(self) -> None:
        """Close the connections to the provider."""
        self._http.close()

    def begin(self, redirect_uri: str) -> SignIn:
        """Draw the secrets of a sign-in, keep what is needed at its end, and make its URL."""
        state, nonce, verifier = new_secret(), new_secret(), new_secret() + new_secret()
        now = self._database.clock()
        row = SignInRow(
            digest=digest_of(state), verifier=verifier, nonce=nonce, expires_at=now + SIGN_IN_S
        )
        with self._database.begin() as session:
            session.query(SignInRow).where(SignInRow.expires_at < now).delete()
            session.add(row)
        challenge = hashlib.sha256(verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": self._settings.scopes,
            "state": state,
            "nonce": nonce,
            "code_challenge": base64.urlsafe_b64encode(challenge).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return SignIn(f"{self._provider()['authorization_endpoint']}?{urlencode(query)}", state)

    def finish(self, state: str, code: str, redirect_uri: str) -> Principal:
        """The account of a person who came back.

        Raises:
            NotAuthenticated: an unknown or used sign-in, or a token that does not hold.
            PermissionDenied: none of the person's groups has a role.
        """
        row = self._take(state)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self._settings.client_id,
            "code_verifier": row.verifier,
        }
        if self._settings.client_secret:
            form["client_secret"] = self._settings.client_secret
        answer = self._send("POST", self._provider()["token_endpoint"], data=form)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise NotAuthenticated("The identity provider sent no ID token")
        return self.principal_of(self.claims_of(token, row.nonce))

    def _take(self, state: str) -> SignInRow:
        """A sign-in can be finished once."""
        with self._database.begin() as session:
            row = session.get(SignInRow, digest_of(state))
            if row is not None:
                session.delete(row)
        if row is None or row.expires_at < self._database.clock():
            raise NotAuthenticated("The sign-in is unknown or too old", hint="sign in again")
        return row

    # ---- tokens ---------------------------------------------------------------------------------

    def claims_of(self, token: str, nonce: str) -> Mapping[str, Any]:
        """The claims of an ID token that holds."""
        registry = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_S,
            iss={"essential": True, "value": self._settings.issuer},
            aud={"essential": True, "value": self._settings.client_id},
            sub={"essential": True},
            exp={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            decoded = self._decoded(token)
            registry.validate(decoded.claims)
        except (JoseError, ValueError) as error:
            raise NotAuthenticated(
                f"The ID token does not hold ({type(error).__name__})", hint="sign in again"
            ) from error
        return decoded.claims

    def _decoded(self, token: str) -> jwt.Token:
        """A token whose signature holds; an unknown key may be one that the provider has added."""
        try:
            return jwt.decode(token, self._key_set(), algorithms=ALGORITHMS)
        except InvalidKeyIdError:
            if not self._forget_keys():
                raise
            return jwt.decode(token, self._key_set(), algorithms=ALGORITHMS)

    def principal_of(self, claims: Mapping[str, Any]) -> Principal:
        """The account that claims describe: the roles of all its groups together."""
        settings = self._settings
        groups = _texts(claims.get(settings.groups_claim))
        grants = grants_of(groups, settings.roles)
        name = printable(str(claims.get(settings.name_claim) or claims["sub"]))[:NAME_MAX]
        if not grants:
            raise PermissionDenied(
                f"None of the groups of {name} has a role on this server",
                hint="an administrator gives groups roles in [oidc.roles]",
            )
        return Principal(f"{name} (oidc {self._key_of(claims)})", grants, groups=tuple(groups))

    def _key_of(self, claims: Mapping[str, Any]) -> str:
        """What stays the same of a person: names change, and two people may have the same one."""
        subject = f"{self._settings.issuer}\0{claims['sub']}"
        return hashlib.sha256(subject.encode()).hexdigest()[:KEY_LENGTH]

    # ---- the provider ---------------------------------------------------------------------------

    def _provider(self) -> dict[str, Any]:
        """What the provider says of itself; read once, and refused if it is another issuer."""
        with self._lock:
            if self._known is None:
                issuer = self._settings.issuer
                url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
                found = self._send("GET", url)
                if found.get("issuer") != issuer:
                    raise Unavailable(f"{url} describes another issuer than {issuer}")
                self._known = found
            return self._known

    def _key_set(self) -> KeySet:
        provider = self._provider()
        with self._lock:
            if self._keys is None or time.monotonic() - self._keys[0] > KEYS_S:
                found = self._send("GET", provider["jwks_uri"])
                self._keys = time.monotonic(), KeySet.import_key_set(found)  # pyright: ignore[reportArgumentType]
            return self._keys[1]

    def _forget_keys(self) -> bool:
        """Have the keys read again, if that was not done just before."""
        with self._lock:
            now = time.monotonic()
            if now - self._reread_at < REREAD_S:
                return False
            self._reread_at, self._keys = now, None
            return True

    def _send(self, method: str, url: str, **details: Any) -> dict[str, Any]:
        """The document that the provider answers with.

        Raises:
            NotAuthenticated: the provider refuses what was sent to it.
            Unavailable: it cannot be reached, or is in trouble.
        """
        try:
            response = self._http.request(method, url, **details)
            if response.status_code == 200:
                return _document(response)
        except (httpx.HTTPError, ValueError) as error:
            raise Unavailable(
                f"The identity provider cannot be reached ({type(error).__name__})"
            ) from error
        status = response.status_code
        if method == "POST" and status in REFUSALS:
            raise NotAuthenticated(f"The identity provider refuses the sign-in (status {status})")
        raise Unavailable(f"The identity provider has failed (status {status})", hint="try again")


def _document(response: httpx.Response) -> dict[str, Any]:
    document = response.json()
    if not isinstance(document, dict):
        raise ValueError("not an object")
    return cast("dict[str, Any]", document)


def _texts(claim: object) -> list[str]:
    """The texts of a claim that is one text or a list of them."""
    if isinstance(claim, str):
        return [claim]
    listed = cast("list[object]", claim) if isinstance(claim, list) else []
    return [each for each in listed if isinstance(each, str)]
