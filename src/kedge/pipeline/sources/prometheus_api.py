"""A client of Prometheus' HTTP API, which Thanos, Mimir and VictoriaMetrics speak too.

Requests are repeated with growing pauses when the server is overloaded, fails or does not answer in
time; an answer that ends early is requested again. Redirects are not followed: credentials must not
go to another server. Secrets appear in no error.
"""

from __future__ import annotations

import re
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

import orjson

from kedge.cluster.access import Secret
from kedge.errors import (
    AuthenticationFailed,
    InvalidRequest,
    MalformedInput,
    PrometheusUnavailable,
    QueryTooLarge,
    TruncatedInput,
)
from kedge.metrics.parsing.range_answers import read_envelope

BLOCK_BYTES: Final = 1 << 20
ANSWER_BYTES_MAX: Final = 1 << 30
ATTEMPTS: Final = 5
FIRST_PAUSE_S: Final = 0.5
RETRIED: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
UNAUTHORISED: Final = frozenset({401, 403})
REDIRECTS: Final = range(300, 400)
ERROR_BYTES: Final = 4096


class LatestValue(NamedTuple):
    """The last value of a series, and when it was scraped, in seconds since 1970."""

    labels: Mapping[str, str]
    at: float
    value: float


@dataclass(frozen=True, slots=True)
class PrometheusAccess:
    """Where a server is and how to authenticate there."""

    url: str
    username: str = ""
    password: Secret = field(default_factory=Secret)
    token: Secret = field(default_factory=Secret)
    tenant: str = ""  # of Mimir
    ca: Path | None = None
    timeout_s: float = 30.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.username or parts.password:
            hint = "credentials belong into a file or the environment, see --prometheus-auth"
            raise InvalidRequest("the URL of Prometheus has a password in it", hint=hint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            what = f"{self.url!r} is not the URL of a Prometheus server"
            raise InvalidRequest(what, hint="write it like http://prometheus:9090")

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a request."""
        headers = {"Accept": "application/json", "User-Agent": "kedge"}
        if self.tenant:
            headers["X-Scope-OrgID"] = self.tenant
        if self.token:
            headers["Authorization"] = f"Bearer {self.token.reveal()}"
        elif self.username:
            pair = f"{self.username}:{self.password.reveal()}".encode()
            headers["Authorization"] = f"Basic {b64encode(pair).decode()}"
        return headers


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


Pause = Callable[[float], None]


class PrometheusApi:
    """Sends requests to one server."""

    def __init__(self, access: PrometheusAccess, pause: Pause) -> None:
        self.access = access
        self.pause = pause
        self.opener = _opener(access)

    def label_values(self, label: str, matching: str, start: float, end: float) -> list[str]:
        """The values of a label in series of a time."""
        fields = {"match[]": matching, "start": f"{start:.3f}", "end": f"{end:.3f}"}
        found = self._json(f"/api/v1/label/{label}/values", fields, get=True)
        return [str(value) for value in cast("list[Any]", found)] if found else []

    def count(self, selector: str, at: float) -> int:
        """The number of series at a moment."""
        fields = {"query": f"count({selector})", "time": f"{at:.3f}"}
        found = self._json("/api/v1/query", fields)
        try:
            result = found["result"]
            return int(float(result[0]["value"][1])) if result else 0
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise MalformedInput(f"{self._name}: not an answer of Prometheus") from error

    def latest(self, selector: str, window_s: int) -> list[LatestValue]:
        """The last value of each series that was scraped within a time."""
        found = self._json("/api/v1/query", {"query": f"{selector}[{window_s}s]"})
        try:
            return [
                LatestValue(one["metric"], float(one["values"][-1][0]), float(one["values"][-1][1]))
                for one in found["result"]
            ]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise MalformedInput(f"{self._name}: not an answer of Prometheus") from error

    def query_range(
        self, query: str, start: float, end: float, step: float, into: IO[bytes]
    ) -> None:
        """Write the answer of a range query to a file; it is complete."""
        fields = {
            "query": query,
            "start": f"{start:.3f}",
            "end": f"{end:.3f}",
            "step": f"{step:g}",
        }
        self._send("/api/v1/query_range", fields, into)

    # ---- requests -------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return self.access.url.rstrip("/")

    def _json(self, path: str, fields: Mapping[str, str], *, get: bool = False) -> Any:
        from io import BytesIO

        into = BytesIO()
        self._send(path, fields, into, get=get)
        try:
            found: Any = orjson.loads(into.getvalue())
            return found["data"]
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise MalformedInput(f"{self._name}: not an answer of Prometheus") from error

    def _send(
        self, path: str, fields: Mapping[str, str], into: IO[bytes], *, get: bool = False
    ) -> None:
        reason = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                self.pause(FIRST_PAUSE_S * 2 ** (attempt - 1))
            into.seek(0)
            into.truncate()
            reason = self._attempt(path, fields, into, get=get)
            if not reason:
                return
        hint = "see whether the server is up; a shorter range or a longer step is less work for it"
        raise PrometheusUnavailable(f"{self._name}: {reason}, {ATTEMPTS} times", hint=hint)

    def _attempt(self, path: str, fields: Mapping[str, str], into: IO[bytes], *, get: bool) -> str:
        """Send once; the reason to try again, or empty when the answer is complete."""
        body = urlencode(fields)
        url = f"{self._name}{path}" + (f"?{body}" if get else "")
        data = None if get else body.encode()
        request = Request(url, data=data, headers=self.access.headers)
        try:
            with self.opener.open(request, timeout=self.access.timeout_s) as answer:
                return self._copy(answer, into)
        except HTTPError as error:
            with error:
                return self._refused(error)
        except TimeoutError:
            return f"no answer within {self.access.timeout_s:g} s"
        except URLError as error:
            return self._unreachable(error)
        except (HTTPException, OSError) as error:
            return f"the connection was lost ({type(error).__name__})"

    def _copy(self, answer: Any, into: IO[bytes]) -> str:
        try:
            read_envelope(self._copied(answer, into))
        except TruncatedInput:
            return "the answer was truncated"
        except MalformedInput as error:
            what = f"{self._name}: not an answer of Prometheus ({error.what})"
            hint = "see the URL, and --prometheus-auth where a proxy asks for a login"
            raise MalformedInput(what, hint=hint) from error
        return ""

    def _copied(self, answer: Any, into: IO[bytes]) -> Iterator[bytes]:
        """The blocks of an answer, each after it was written to a file."""
        size = 0
        while block := answer.read(BLOCK_BYTES):
            size += len(block)
            if size > ANSWER_BYTES_MAX:
                raise QueryTooLarge(f"{self._name}: an answer of more than 1 GB")
            into.write(block)
            yield block

    def _refused(self, error: HTTPError) -> str:
        code = error.code
        text = _message(error)
        if code in RETRIED:
            return f"HTTP status {code}" + (f" ({text})" if text else "")
        if code in UNAUTHORISED:
            hint = "see --prometheus-auth"
            raise AuthenticationFailed(f"{self._name}: HTTP status {code}, refused", hint=hint)
        if code in REDIRECTS:
            where = re.sub(r"//[^/@]*@", "//", error.headers.get("Location", "another address"))
            raise InvalidRequest(f"{self._name}: redirects to {where}", hint="use that URL")
        if code in (400, 413, 422) and re.search(r"too many|exceeded|maximum|limit", text):
            raise QueryTooLarge(f"{self._name}: {text}")
        hint = "is this the URL of Prometheus, without /api/v1?" if code == 404 else ""
        what = f"{self._name}: HTTP status {code}" + (f" ({text})" if text else "")
        raise InvalidRequest(what, hint=hint)

    def _unreachable(self, error: URLError) -> str:
        reason = error.reason
        if isinstance(reason, ssl.SSLCertVerificationError):
            hint = "name the certificate authority with --prometheus-ca"
            raise InvalidRequest(f"{self._name}: {reason.verify_message}", hint=hint)
        if isinstance(reason, TimeoutError):
            return f"no answer within {self.access.timeout_s:g} s"
        text = reason.strerror if isinstance(reason, OSError) else str(reason)
        return f"cannot be reached ({text or type(reason).__name__})"


def _message(error: HTTPError) -> str:
    """The server's own words, in one line."""
    try:
        body = error.read(ERROR_BYTES)
    except (OSError, HTTPException):
        return ""
    try:
        found: Any = orjson.loads(body)
        text = str(found["error"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        text = re.sub(r"<[^>]*>", " ", body.decode("utf-8", "replace"))
    return " ".join(text.split())[:200]


def _opener(access: PrometheusAccess) -> OpenerDirector:
    try:
        context = ssl.create_default_context(cafile=access.ca)
    except (OSError, ssl.SSLError) as error:
        what = f"{access.ca}: not a file of certificates ({error.strerror or error})"
        raise InvalidRequest(what) from error
    return build_opener(_NoRedirects(), HTTPSHandler(context=context))
