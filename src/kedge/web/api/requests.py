"""What handlers share: who sends a request, what a change needs, how documents are answered."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from fastapi import Depends, Header, Path, Request
from fastapi.responses import Response
from fastapi.security import HTTPBearer

from kedge.errors import ClusterUnavailable, KedgeError, RequestTimedOut, RunFailed, ServerFailed
from kedge.web.access.authentication import authenticate
from kedge.web.access.roles import Principal, Role
from kedge.web.audit import AuditEntry, AuditOutcome
from kedge.web.clusters.read_only import read_only_error
from kedge.web.clusters.view import Encoded
from kedge.web.events import Listener
from kedge.web.idempotency import Answer, fingerprint_of
from kedge.web.problems import PROBLEM_JSON, failure_of, problem_response, status_of
from kedge.web.protection.asgi import client_of
from kedge.web.services import Services

log = logging.getLogger("kedge.web")
JSON = "application/json"
AWAY = (503, 504)  # statuses of clusters that do not answer
Document = Mapping[str, Any]

bearer = HTTPBearer(auto_error=False, description="A token of this server")
ClusterName = Annotated[str, Path(min_length=1, max_length=63, description="A cluster's name")]


def services_in(request: Request) -> Services:
    """The parts of this server."""
    return request.app.state.services


ServicesOf = Annotated[Services, Depends(services_in)]


def signed_in(request: Request, _: Annotated[Any, Depends(bearer)] = None) -> Principal:
    """The account of a request."""
    services = services_in(request)
    return authenticate(request, services.accounts, secure=services.settings.secure)


Account = Annotated[Principal, Depends(signed_in)]


def reads(request: Request, principal: Account) -> Principal:
    """An account that may read the cluster of the path."""
    cluster = request.path_params["cluster"]
    principal.require(Role.READ, cluster)
    services_in(request).registry.of(cluster)
    return principal


Reader = Annotated[Principal, Depends(reads)]


def check_reachable(services: Services, cluster: str) -> None:
    """Refuse to read a cluster that does not answer now, before a thread waits for it.

    Raises:
        ClusterUnavailable: the last read of the cluster, a moment ago, had no answer.
    """
    problem = services.watchers[cluster].observed.problem
    if problem is not None and problem["status"] in AWAY:
        raise ClusterUnavailable(f"The cluster {cluster} cannot be read: {problem['detail']}")


def reads_live(request: Request, principal: Reader) -> Principal:
    """An account that may read the cluster of the path, which is read for this request."""
    check_reachable(services_in(request), request.path_params["cluster"])
    return principal


Reachable = Annotated[Principal, Depends(reads_live)]


def listens(request: Request, principal: Reader) -> Listener:
    """An account that may read the cluster of the path, for as long as its stream is open."""

    def may_listen() -> bool:
        try:
            reads(request, signed_in(request))
        except KedgeError:
            return False
        return True

    return Listener(principal.name, may_listen)


ListenerOf = Annotated[Listener, Depends(listens)]


# ---- answers -------------------------------------------------------------------------------------


def answer(
    document: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A document as JSON."""
    body = orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, status, dict(headers or {}), JSON)


def answer_encoded(request: Request, document: Encoded) -> Response:
    """A document that was encoded before; a browser that has it gets no second copy."""
    headers = {
        "ETag": document.etag,
        "Cache-Control": "private, no-cache",
        "Vary": "Accept-Encoding",
    }
    if request.headers.get("if-none-match") == document.etag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(document.packed, 200, headers | {"Content-Encoding": "gzip"}, JSON)
    return Response(document.plain, 200, headers, JSON)


# ---- changes -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Done:
    """A change that was made: its answer, and what the audit keeps of it."""

    document: Document
    status: int = 200
    target: str = ""
    before: Document | None = None
    after: Document | None = None
    kept: Document | None = None  # what a repetition is answered with, where that differs


@dataclass(frozen=True, slots=True)
class Change:
    """A change that an account may make, under its idempotency key."""

    request: Request
    services: Services
    principal: Principal
    action: str
    key: str
    fingerprint: str
    cluster: str | None

    def make(self, act: Callable[[], Done], target: str = "") -> Response:
        """Make the change once, write the audit, and answer; a repetition gets the same answer."""
        answers, who = self.services.answers, self.principal.name
        known = answers.begin(who, self.key, self.fingerprint)
        if known is not None:
            return _replayed(known)
        self.request.state.audited = True
        try:
            done = act()
            body = orjson.dumps(done.document)
            kept = body if done.kept is None else orjson.dumps(done.kept)
        except KedgeError as error:
            return self._refused(error, target)
        except Exception as error:
            return self._refused(failure_of(error, self.request.state.request_id), target)
        try:
            self._write(
                AuditOutcome.DONE,
                done.status,
                done.target or target,
                before=done.before,
                after=done.after,
            )
        finally:  # it was made, so that a repetition must not make it again
            answers.finish(who, self.key, Answer(done.status, kept))
        return Response(body, done.status, media_type=JSON)

    def _refused(self, error: KedgeError, target: str) -> Response:
        """Refused means unchanged: the key may be used again, unless the outcome is unknown."""
        status = status_of(error)
        outcome = AuditOutcome.REFUSED if status < 500 else AuditOutcome.FAILED
        response = problem_response(error)
        try:
            self._write(outcome, status, target, detail=str(error))
        finally:
            self._settle(error, Answer(status, bytes(response.body)))
        return response

    def _settle(self, error: KedgeError, answer: Answer) -> None:
        answers, who = self.services.answers, self.principal.name
        if isinstance(error, RequestTimedOut | RunFailed | ServerFailed):
            answers.finish(who, self.key, answer)
        else:
            answers.forget(who, self.key)

    def _write(
        self,
        outcome: AuditOutcome,
        status: int,
        target: str,
        *,
        detail: str = "",
        before: Document | None = None,
        after: Document | None = None,
    ) -> None:
        entry = AuditEntry(
            who=self.principal.name,
            source=client_of(self.request.scope),
            action=self.action,
            outcome=outcome,
            status=status,
            cluster=self.cluster,
            target=target,
            detail=detail,
            before=before,
            after=after,
            request_id=self.request.state.request_id,
        )
        self.services.audit.write(entry)


def _replayed(known: Answer) -> Response:
    headers = {"Idempotency-Replayed": "true"}
    media = JSON if known.status < 400 else PROBLEM_JSON
    return Response(known.body, known.status, headers, media)


IdempotencyKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=8,
        max_length=200,
        description="A new value for each change; the same one repeats a change without effect",
    ),
]


def changes(role: Role, action: str, *, in_read_only: bool = False) -> Any:
    """The dependency of a handler that changes something: role, mode, key."""

    def permitted(request: Request, principal: Account) -> Principal:
        cluster = request.path_params.get("cluster")
        services = services_in(request)
        if cluster is None:
            principal.require_everywhere(role)
        else:
            principal.require(role, cluster)
            services.registry.of(cluster)
        if services.settings.read_only and not in_read_only:
            raise read_only_error()
        return principal

    async def change(
        request: Request, key: IdempotencyKey, principal: Principal = Depends(permitted)
    ) -> Change:
        body = await request.body()
        path = f"{request.url.path}?{request.url.query}"
        return Change(
            request,
            services_in(request),
            principal,
            action,
            key,
            fingerprint_of(request.method, path, body),
            request.path_params.get("cluster"),
        )

    return Depends(change)
