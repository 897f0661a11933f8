"""Builds the application: routers, protections, error handlers, pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from anyio import to_thread
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from kedge import __version__
from kedge.errors import KedgeError
from kedge.web import problems
from kedge.web.api import (
    audit,
    clusters,
    controller,
    events,
    health,
    history,
    jobs,
    loop,
    oidc,
    plans,
    proposals,
    runs,
    session,
    sessions,
    snapshots,
    tokens,
    topics,
)
from kedge.web.clusters.places import HELD
from kedge.web.pages import page_files
from kedge.web.pages import router as pages
from kedge.web.protection.body_limit import BodyLimit
from kedge.web.protection.cross_site import CrossSite
from kedge.web.protection.failures import Failures
from kedge.web.protection.rate_limit import Buckets, RateLimit
from kedge.web.protection.refusal_audit import RefusalAudit
from kedge.web.protection.security_headers import SecurityHeaders
from kedge.web.protection.trusted_hosts import TrustedHosts, own_hosts
from kedge.web.protection.well_formed import WellFormed
from kedge.web.runs_reader import THREADS
from kedge.web.services import Services

MODULES = (
    *(session, sessions, oidc, clusters, events, topics, snapshots, plans, runs, jobs),
    *(proposals, loop, history, controller, tokens, audit, health),
)
REFUSALS_PER_MINUTE = 120


def create_app(services: Services) -> FastAPI:
    """The application of a server; its parts start and stop with it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        services.broadcaster.attach(asyncio.get_running_loop())
        _add_threads(len(services.registry.names))
        await asyncio.to_thread(services.start)
        try:
            yield
        finally:
            services.broadcaster.close()
            await asyncio.to_thread(services.stop)

    app = FastAPI(
        title="Kedge",
        summary="Places, moves and balances Kafka replicas",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.services = services
    for module in MODULES:
        app.include_router(module.router)
    app.include_router(pages)
    app.mount("/static", page_files(), name="static")
    app.add_exception_handler(KedgeError, problems.on_kedge_error)
    app.add_exception_handler(RequestValidationError, problems.on_invalid_body)
    app.add_exception_handler(HTTPException, problems.on_http_error)
    _protect(app, services)
    return app


def _add_threads(clusters: int) -> None:
    """Threads for requests: those that requests to clusters may hold come on top of the others."""
    to_thread.current_default_thread_limiter().total_tokens += clusters * (HELD + THREADS)


def _protect(app: FastAPI, services: Services) -> None:
    """The middlewares, from the inside out: the last one added sees a request first."""
    settings = services.settings
    limits = settings.limits
    app.add_middleware(WellFormed)
    app.add_middleware(BodyLimit, bytes_max=limits.body_bytes)
    app.add_middleware(CrossSite, public_url=settings.public_url)
    app.add_middleware(
        RateLimit,
        requests=Buckets(limits.requests_per_minute),
        failures=Buckets(limits.sign_ins_per_minute),
    )
    app.add_middleware(TrustedHosts, hosts=own_hosts(settings))
    app.add_middleware(Failures)
    app.add_middleware(RefusalAudit, audit=services.audit, entries=Buckets(REFUSALS_PER_MINUTE))
    app.add_middleware(SecurityHeaders, secure=settings.secure)
