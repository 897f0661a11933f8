"""mock-oauth2-server, an identity provider that runs in a JVM, and a way to forge what it signs."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.postgres import free_port

POM = Path(__file__).with_name("mock-oauth2-server.xml")
JARS = Path(__file__).parents[2] / ".cache/jars/mock-oauth2-server"
MAIN = "no.nav.security.mock.oauth2.StandaloneMockOAuth2ServerKt"
START_S = 180.0
CLIENT = "kedge"


def issuer(name: str, *, expires_s: int = 300, **claims: Any) -> dict[str, Any]:
    """One issuer of the provider: everyone who signs in there gets these claims."""
    mapping = {
        "requestParam": "grant_type",
        "match": "authorization_code",
        "claims": {"sub": "u1", "aud": [CLIENT], "preferred_username": "ana", **claims},
    }
    return {"issuerId": name, "tokenExpiry": expires_s, "requestMappings": [mapping]}


@contextmanager
def mock_oauth2(*issuers: dict[str, Any]) -> Generator[str]:
    """The URL of a provider with these issuers, during a `with` block."""
    port = free_port()
    config = {"interactiveLogin": False, "tokenCallbacks": issuers}
    environment = os.environ | {
        "SERVER_HOSTNAME": "127.0.0.1",
        "SERVER_PORT": str(port),
        "JSON_CONFIG": json.dumps(config),
    }
    command = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-cp", f"{_jars()}/*", MAIN]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            _await(f"http://127.0.0.1:{port}/isalive", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def _jars() -> Path:
    """The jars of the provider; resolved at the first use."""
    if not JARS.exists():
        part = JARS.with_name(f"{JARS.name}.{os.getpid()}")
        subprocess.run(
            [
                "mvn",
                "-q",
                "-B",
                "--no-transfer-progress",
                "-f",
                str(POM),
                "dependency:copy-dependencies",
                f"-DoutputDirectory={part}",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        shutil.move(part, JARS)
    return JARS


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            if httpx.get(url).is_success:
                return
        except httpx.TransportError:
            assert process.poll() is None, "the identity provider has ended"
        assert time.monotonic() < deadline, "the identity provider did not start"
        time.sleep(0.2)


# ---- forgery -------------------------------------------------------------------------------------


@contextmanager
def forging(provider: str) -> Generator[str]:
    """The URL of a proxy that changes each ID token of the provider, and keeps its signature."""

    async def passed_on(request: Request) -> Response:
        async with httpx.AsyncClient() as client:
            answer = await client.request(
                request.method,
                f"{provider}{request.url.path}?{request.url.query}",
                content=await request.body(),
                headers={
                    "host": request.headers["host"],  # the issuer has the name that was asked for
                    "content-type": request.headers.get("content-type", "text/plain"),
                },
            )
        body = _forged(answer.content) if request.url.path.endswith("/token") else answer.content
        kept = {n: v for n, v in answer.headers.items() if n in ("location", "content-type")}
        return Response(body, answer.status_code, kept)

    app = Starlette(routes=[Route("/{path:path}", passed_on, methods=["GET", "POST"])])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)


def _forged(answer: bytes) -> bytes:
    """The same answer, whose ID token says that the person is in another group."""
    document = json.loads(answer)
    head, claims, signature = document["id_token"].split(".")
    changed = json.loads(base64.urlsafe_b64decode(claims + "=="))
    changed["groups"] = ["operators"]
    encoded = base64.urlsafe_b64encode(json.dumps(changed).encode()).rstrip(b"=").decode()
    document["id_token"] = ".".join((head, encoded, signature))
    return json.dumps(document).encode()
