"""Shared by the middlewares: headers of a request, and the answer that refuses it."""

from __future__ import annotations

from starlette.types import Message, Receive, Scope, Send

from kedge.errors import KedgeError
from kedge.web.problems import problem_response

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def header(scope: Scope, name: str) -> str:
    """One header of the request; empty where it has none."""
    wanted = name.encode()
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == wanted), "")


def client_of(scope: Scope) -> str:
    """The address that a request comes from."""
    client = scope.get("client")
    return client[0] if client else "unknown"


def is_change(scope: Scope) -> bool:
    """Whether the method may change something."""
    return scope["method"] not in SAFE_METHODS


def answered_status(scope: Scope, message: Message) -> int:
    """The status of an answer that begins; of a refusal that a page tells in words, its own."""
    return scope.get("state", {}).get("refused_as", message["status"])


async def refuse(error: KedgeError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with an error instead of passing the request on."""
    scope.setdefault("state", {})["refusal"] = error.what
    await problem_response(error)(scope, receive, send)
