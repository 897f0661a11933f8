"""One connection to one broker: TCP, TLS, API versions, SASL, then requests.

Messages and SASL mechanisms are kafka-python's. Its client is not used: it writes requests to its
log, passwords among them, and retries with a wrong password. Here every wait has a deadline, the
first refusal is raised as it is, and nothing is logged.
"""

from __future__ import annotations

import io
import socket
import ssl
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

from kedge import __version__
from kedge.cluster.access import Access
from kedge.cluster.client_messages import sasl_mechanism
from kedge.cluster.deadline import Deadline
from kedge.errors import (
    AuthenticationFailed,
    BrokerFailed,
    ClusterUnavailable,
    KedgeError,
    RequestTimedOut,
    UnsupportedByCluster,
)
from kedge.protocol.messages import (
    ApiVersionsRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)

FRAME_MAX_BYTES = 200 * 1024 * 1024
UNSUPPORTED_VERSION = 35
API_VERSIONS = 18

Response = TypeVar("Response")


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class NothingSent(ClusterUnavailable):
    """The connection broke before the request was sent: a retry is safe."""


class Connection:
    """A connection that is ready for requests; opening it may raise any `Unavailable`."""

    def __init__(
        self,
        address: Address,
        access: Access,
        context: ssl.SSLContext | None,
        deadline: Deadline,
    ) -> None:
        self.address = address
        self._access = access
        self._correlation = 0
        self._versions: dict[int, tuple[int, int]] = {}
        self._socket = self._opened(deadline)
        try:
            if context is not None:
                self._socket = self._encrypted(context, deadline)
            self._read_versions(deadline)
            if access.sasl:
                self._authenticate(deadline)
        except BaseException:
            self.close()
            raise

    def send(self, request: Any, kind: type[Response], deadline: Deadline) -> Response:
        """Send one request and wait for its response."""
        request.API_VERSION = self.version_of(request)
        return cast("Response", self._exchange(request, deadline))

    def version_of(self, request: Any) -> int:
        """The newest version of a request that both sides support."""
        known = self._versions.get(request.API_KEY)
        if known is None or known[0] > request.max_version:
            raise UnsupportedByCluster(
                f"The brokers do not support {type(request).__name__.removesuffix('Request')}"
            )
        return min(known[1], request.max_version)

    def supports(self, request: Any) -> bool:
        """Whether the broker supports such requests."""
        return request.API_KEY in self._versions

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    # ---- opening --------------------------------------------------------------------------------

    def _opened(self, deadline: Deadline) -> socket.socket:
        try:
            opened = socket.create_connection(self.address, timeout=deadline.left_s("connecting"))
        except socket.gaierror as error:
            raise NothingSent(f"{self.address}: no such host") from error
        except TimeoutError as error:
            raise NothingSent(f"{self.address}: no connection in time") from error
        except (OSError, UnicodeError) as error:
            raise NothingSent(f"{self.address}: {_in_words(error)}") from error
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened

    def _encrypted(self, context: ssl.SSLContext, deadline: Deadline) -> socket.socket:
        self._socket.settimeout(deadline.left_s("the TLS handshake"))
        try:
            return context.wrap_socket(self._socket, server_hostname=self.address.host)
        except ssl.SSLCertVerificationError as error:
            raise _untrusted(self.address, error) from error
        except ssl.SSLError as error:
            raise _no_tls(self.address, error) from error
        except TimeoutError as error:
            raise NothingSent(f"{self.address}: no TLS handshake in time") from error
        except OSError as error:
            raise NothingSent(
                f"{self.address}: the TLS handshake broke off: {_in_words(error)}",
                hint="does this listener speak TLS?",
            ) from error

    def _read_versions(self, deadline: Deadline) -> None:
        """Send the newest version; an old broker responds with its own newest one (KIP-511)."""
        answer = self._versions_at(ApiVersionsRequest.max_version, deadline)
        if answer.error_code == UNSUPPORTED_VERSION:
            known = [e.max_version for e in answer.api_keys or () if e.api_key == API_VERSIONS]
            answer = self._versions_at(known[0] if known else 0, deadline)
        if answer.error_code or not answer.api_keys:
            raise BrokerFailed(f"{self.address}: error {answer.error_code} in reply to ApiVersions")
        self._versions = {
            each.api_key: (each.min_version, each.max_version) for each in answer.api_keys
        }

    def _versions_at(self, version: int, deadline: Deadline) -> Any:
        request = ApiVersionsRequest(
            client_software_name="kedge", client_software_version=__version__, version=version
        )
        try:
            return self._exchange(request, deadline)
        except RequestTimedOut as error:
            raise NothingSent(
                f"{self.address}: no answer to the first request",
                hint="if the listener needs TLS, set security.protocol",
            ) from error
        except ClusterUnavailable as error:
            raise NothingSent(error.what, hint=error.hint) from error

    def _authenticate(self, deadline: Deadline) -> None:
        access = self._access
        handshake: Any = self.send(
            SaslHandshakeRequest(mechanism=access.mechanism, max_version=1), object, deadline
        )
        if handshake.error_code:
            offered = ", ".join(handshake.mechanisms) or "none"
            raise AuthenticationFailed(
                f"{self.address}: SASL {access.mechanism} is not offered",
                hint=f"offered: {offered}",
            )
        mechanism = sasl_mechanism(
            access.mechanism,
            host=self.address.host,
            security_protocol="SASL_SSL",  # else the mechanism logs a warning about the network
            sasl_mechanism=access.mechanism,
            sasl_plain_username=access.username,
            sasl_plain_password=access.password.reveal(),
        )
        while not mechanism.is_done():
            self._one_token(mechanism, deadline)
        if not mechanism.is_authenticated():
            raise self._authentication_failed("")

    def _one_token(self, mechanism: Any, deadline: Deadline) -> None:
        request = SaslAuthenticateRequest(mechanism.auth_bytes())
        answer: Any = self.send(request, object, deadline)
        if answer.error_code:
            raise self._authentication_failed(answer.error_message or "")
        try:
            mechanism.receive(answer.auth_bytes)
        except (KedgeError, RecursionError):
            raise
        except Exception as error:
            # The broker could not prove that it knows the password (SCRAM); no text is quoted.
            raise self._authentication_failed("the broker's proof does not fit") from error

    def _authentication_failed(self, message: str) -> AuthenticationFailed:
        reason = f": {one_line(message)}" if message else ""
        return AuthenticationFailed(
            f"{self.address}: SASL {self._access.mechanism} refused user "
            f"{self._access.username!r}{reason}",
            hint="check username and password in sasl.jaas.config",
        )

    # ---- bytes ----------------------------------------------------------------------------------

    def _exchange(self, request: Any, deadline: Deadline) -> Any:
        self._correlation += 1
        request.with_header(correlation_id=self._correlation, client_id=self._access.client_id)
        data = bytes(request.encode(framed=True, header=True))
        if self._is_closed():
            raise NothingSent(f"{self.address}: the broker has closed the idle connection")
        self._guarded(partial(self._socket.sendall, data), deadline)
        frame = io.BytesIO(self._frame(deadline))
        kind = request.header.get_response_class()
        try:
            header = kind.parse_header(frame)
            answer = kind.decode(frame)
        except (ValueError, struct.error, IndexError) as error:
            raise BrokerFailed(f"{self.address}: malformed response") from error
        if header.correlation_id != self._correlation:
            raise BrokerFailed(f"{self.address}: the response belongs to another request")
        return answer

    def _is_closed(self) -> bool:
        """Brokers close idle connections, which is better seen before a change is sent than after.

        The plain socket is read, below TLS, whose own messages may be waiting there.
        """
        self._socket.settimeout(0)
        try:
            return socket.socket.recv(self._socket, 1, socket.MSG_PEEK) == b""
        except OSError:  # nothing to read, or a fault that sending will raise
            return False

    def _frame(self, deadline: Deadline) -> bytes:
        size = int.from_bytes(self._received(4, deadline), "big")
        if size > FRAME_MAX_BYTES:
            raise NothingSent(
                f"{self.address}: not a Kafka broker",
                hint="check the port, and security.protocol if the listener needs TLS",
            )
        return self._received(size, deadline)

    def _received(self, count: int, deadline: Deadline) -> bytes:
        buffer = bytearray()
        while len(buffer) < count:
            piece = self._guarded(partial(self._socket.recv, count - len(buffer)), deadline)
            if not piece:
                raise ClusterUnavailable(
                    f"{self.address}: the broker closed the connection",
                    hint="" if self._access.sasl else "does the listener need SASL or TLS?",
                )
            buffer += piece
        return bytes(buffer)

    def _guarded(self, action: Callable[[], Any], deadline: Deadline) -> Any:
        self._socket.settimeout(deadline.left_s())
        try:
            return action()
        except TimeoutError as error:
            raise RequestTimedOut(f"{self.address}: no answer in time") from error
        except ssl.SSLError as error:
            raise _no_tls(self.address, error) from error
        except OSError as error:
            raise ClusterUnavailable(f"{self.address}: {_in_words(error)}") from error


def one_line(text: str) -> str:
    """A broker's message as part of a sentence."""
    return " ".join(text.split()).rstrip(".")


def _in_words(error: Exception) -> str:
    strerror = getattr(error, "strerror", None)
    return (strerror or str(error) or type(error).__name__).lower()


def _untrusted(address: Address, error: ssl.SSLCertVerificationError) -> AuthenticationFailed:
    why = one_line(error.verify_message)
    hint = "name the CA that signed it in ssl.truststore.location"
    if "ostname" in why or "IP address" in why:
        hint = (
            "use the name in the certificate, or leave ssl.endpoint.identification.algorithm empty"
        )
    return AuthenticationFailed(
        f"{address}: the broker's certificate is not trusted: {why}", hint=hint
    )


def _no_tls(address: Address, error: ssl.SSLError) -> KedgeError:
    reason = (error.reason or "").replace("_", " ").lower() or "broken off"
    if "wrong version" in reason or "record layer" in reason:
        return NothingSent(f"{address}: this listener does not speak TLS")
    return AuthenticationFailed(
        f"{address}: TLS failed: {reason}",
        hint="does the broker need a client certificate (ssl.keystore.location)?"
        if "alert" in reason or "certificate" in reason
        else "",
    )
