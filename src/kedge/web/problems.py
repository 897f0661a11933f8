"""Errors as `application/problem+json` (RFC 9457), with the HTTP status of each."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException

from kedge import errors
from kedge.database import reason_of
from kedge.errors import KedgeError

log = logging.getLogger("kedge.web")
PROBLEM_JSON = "application/problem+json"

# the first class that fits decides: leaves before their branches
STATUSES: tuple[tuple[type[KedgeError], int], ...] = (
    (errors.NotAuthenticated, 401),
    (errors.PermissionDenied, 403),
    (errors.Unauthorised, 403),
    (errors.UnknownResource, 404),
    (errors.UnknownTopicOrPartition, 404),
    (errors.UnknownTopicId, 404),
    (errors.UnknownBroker, 404),
    (errors.RequestTooLarge, 413),
    (errors.RefusedCommand, 409),
    (errors.AuthenticationFailed, 502),
    (errors.UnsupportedByCluster, 501),
    (errors.InvalidRequest, 400),
    (errors.Unsatisfiable, 422),
    (errors.Conflict, 409),
    (errors.RunFailed, 409),
    (errors.TooManyRequests, 429),
    (errors.RequestTimedOut, 504),
    (errors.ServerFailed, 500),
    (errors.Unavailable, 503),
)
RETRY_AFTER_S = 5
OUTAGES = (OperationalError, InterfaceError, PoolTimeout)  # of the database


class ProblemError(KedgeError):
    """An error that a job has kept as a document, raised again."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        super().__init__(str(row["detail"]), hint=str(row["hint"]))
        self.row = dict(row)


def status_of(error: KedgeError) -> int:
    """The HTTP status of an error."""
    if isinstance(error, ProblemError):
        return int(error.row["status"])
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)


def problem_row(error: KedgeError) -> dict[str, Any]:
    """An error for programs: what, and what to do about it."""
    if isinstance(error, ProblemError):
        return error.row
    name = type(error).__name__
    return {
        "type": f"urn:kedge:error:{_hyphenated(name)}",
        "title": re.sub(r"(?<!^)(?=[A-Z])", " ", name),
        "status": status_of(error),
        "detail": error.what,
        "hint": error.hint,
    }


def problem_response(error: KedgeError) -> Response:
    """The answer to a request that failed with this error."""
    row = problem_row(error)
    headers: dict[str, str] = {}
    if row["status"] == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="kedge"'
    if error.retriable:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    return Response(orjson.dumps(row), row["status"], headers, PROBLEM_JSON)


def failure_of(error: Exception, request_id: str) -> KedgeError:
    """The problem that stands for an exception that is no `KedgeError`; the log has its cause."""
    extra = {"request_id": request_id}
    if isinstance(error, OUTAGES):
        log.error("The database cannot be used: %s", reason_of(error), extra=extra)
        return errors.StoreUnavailable(
            "The database of the server cannot be used", hint="send the request again later"
        )
    log.error("A request failed unexpectedly", exc_info=error, extra=extra)
    return errors.ServerFailed(
        "The server failed on this request", hint=f"its log has the cause, by the id {request_id}"
    )


# ---- handlers of the application -----------------------------------------------------------------


async def on_kedge_error(request: Request, error: Exception) -> Response:
    """Every error of the tree."""
    assert isinstance(error, KedgeError)
    request.state.refusal = error.what  # for the audit of refusals
    return problem_response(error)


async def on_invalid_body(request: Request, error: Exception) -> Response:
    """A body or parameter that does not fit the schema; its value is not repeated."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    fault = errors.MalformedInput(str(first["msg"]), place=place)
    return await on_kedge_error(request, fault)


async def on_http_error(_request: Request, error: Exception) -> Response:
    """What the router refuses: unknown paths and methods."""
    assert isinstance(error, HTTPException)
    row = {
        "type": "about:blank",
        "title": str(error.detail),
        "status": error.status_code,
        "detail": str(error.detail),
        "hint": "see /api/v1/openapi.json",
    }
    headers = dict(error.headers or {})
    return Response(orjson.dumps(row), error.status_code, headers, PROBLEM_JSON)


def _hyphenated(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()
