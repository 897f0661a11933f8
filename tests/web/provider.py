"""An identity provider on this machine: OpenID Connect's code flow, with faults on demand."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse
from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "kedge", "the client's secret"


class Provider:
    """The provider, and the claims that its next ID token gets."""

    def __init__(self) -> None:
        self.issuer = ""
        self.claims: dict[str, Any] = {}
        self.key = RSAKey.generate_key(2048, {"kid": "own", "use": "sig"})
        self.signed_by = self.key
        self.token_status = 200
        self.error = ""  # what people are sent back with in place of a code
        self.keys_read = 0
        self._codes: dict[str, dict[str, str]] = {}
        self.app = FastAPI()
        self.app.get("/.well-known/openid-configuration")(self.about)
        self.app.get("/keys")(self.keys)
        self.app.get("/authorize")(self.authorize)
        self.app.post("/token")(self.token)

    def about(self) -> dict[str, str]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
        }

    def rotate(self) -> None:
        """Sign with a new key, and publish that one alone."""
        self.key = self.signed_by = RSAKey.generate_key(2048, {"kid": f"after-{self.key.kid}"})

    def keys(self) -> dict[str, Any]:
        self.keys_read += 1
        return {"keys": [self.key.as_dict(private=False)]}

    def authorize(self, request: Request) -> RedirectResponse:
        query = dict(request.query_params)
        code = f"code-{len(self._codes)}"
        self._codes[code] = query
        result = (
            {"error": self.error, "error_description": "<b>no</b>"}
            if self.error
            else {"code": code}
        )
        back = urlencode({**result, "state": query["state"]})
        return RedirectResponse(f"{query['redirect_uri']}?{back}", 302)

    async def token(self, request: Request) -> JSONResponse:
        if self.token_status != 200:
            return JSONResponse({"error": "server_error"}, self.token_status)
        sent = parse_qs((await request.body()).decode())
        form = {name: values[0] for name, values in sent.items()}
        asked = self._codes.pop(form["code"], None)
        code_verifier, redirect_uri = form["code_verifier"], form["redirect_uri"]
        client_secret = form["client_secret"]
        digest = hashlib.sha256(code_verifier.encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or client_secret != SECRET or redirect_uri != asked["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        if challenge != asked["code_challenge"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": CLIENT, "sub": "u1", "iat": now, "exp": now + 60}
        claims = usual | {"nonce": asked["nonce"], "preferred_username": "ana"} | self.claims
        header = {"alg": "RS256", "kid": self.signed_by.kid}
        return JSONResponse({"id_token": jwt.encode(header, claims, self.signed_by)})


@contextmanager
def provider() -> Generator[Provider]:
    """A provider during a `with` block."""
    made = Provider()
    server = uvicorn.Server(uvicorn.Config(made.app, port=0, log_config=None))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    made.issuer = f"http://127.0.0.1:{port}"
    try:
        yield made
    finally:
        server.should_exit = True
        thread.join(30)
