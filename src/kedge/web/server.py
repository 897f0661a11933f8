"""Runs the application with uvicorn until a signal ends it."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import uvicorn

from kedge.apply import default_state
from kedge.database import open_database
from kedge.errors import InvalidRequest
from kedge.web.access.accounts import NewToken
from kedge.web.app import create_app
from kedge.web.own_changes import token_entry
from kedge.web.services import Services, services_of
from kedge.web.settings import ServerSettings

STOP_S = 15


def default_database() -> str:
    """Where the server keeps its state unless another place is named."""
    return f"sqlite:///{default_state().parent / 'serve.db'}"


def open_services(settings: ServerSettings) -> Services:
    """The parts of a server on its database, which is made or migrated.

    Raises:
        InvalidRequest: the certificate or its key cannot be used.
    """
    _check_tls(settings)
    url = settings.database or default_database()
    if url.startswith("sqlite:///"):
        Path(url.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return services_of(settings, open_database(url))


def administrator_token(services: Services, *, again: bool) -> NewToken | None:
    """The first token of the database, or another one if that is wanted; it is in the audit."""
    token = services.accounts.first_token()
    if token is None and again:
        token = services.accounts.new_admin_token()
    if token is not None:
        services.audit.write(token_entry(token))
    return token


def _check_tls(settings: ServerSettings) -> None:
    """Load the certificate once, before anything is made or printed."""
    if settings.tls_certificate is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            settings.tls_certificate, settings.tls_key
        )
    except (OSError, ValueError) as error:  # SSLError is an OSError
        raise InvalidRequest(
            f"The certificate {settings.tls_certificate} cannot be used: {_why(error)}",
            hint="tls_certificate and tls_key are PEM files that belong together",
        ) from error


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"{error.reason or 'not a certificate'}".replace("_", " ").lower()
    return str(getattr(error, "strerror", None) or error).lower()


def listen(settings: ServerSettings) -> socket.socket:
    """A socket on the address of the settings.

    Raises:
        InvalidRequest: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except (OSError, OverflowError) as error:
        listener.close()
        why = _why(error)
        raise InvalidRequest(
            f"The server cannot listen on {settings.host}:{settings.port}: {why}",
            hint="choose another --port or --host",
        ) from error
    return listener


class Server:
    """A server that is about to run: `run` serves until a signal or `end` ends it."""

    def __init__(self, services: Services, ready: Callable[[str], None] = lambda _: None) -> None:
        settings = services.settings
        self._listener = listen(settings)
        scheme = "http" if settings.tls_certificate is None else "https"
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        local = f"{scheme}://{host}:{self._listener.getsockname()[1]}"
        self.url = settings.public_url or local
        self._server = _Server(_config(settings, services), services, lambda: ready(self.url))

    def run(self) -> None:
        """Serve; on the main thread SIGINT and SIGTERM end it."""
        try:
            self._server.run(sockets=[self._listener])
        finally:
            self._listener.close()

    def end(self) -> None:
        """End it from another thread."""
        self._server.should_exit = True


def _config(settings: ServerSettings, services: Services) -> uvicorn.Config:
    return uvicorn.Config(
        create_app(services),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies or None,
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
        timeout_graceful_shutdown=STOP_S,
        lifespan="on",
    )


class _Server(uvicorn.Server):
    """Calls a function once the server accepts requests, and ends streams before it waits."""

    def __init__(
        self, config: uvicorn.Config, services: Services, ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._services, self._ready = services, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then report."""
        await super().startup(sockets=sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Streams of events never end by themselves: end them, then wait for the rest."""
        self._services.broadcaster.close()
        await super().shutdown(sockets=sockets)
