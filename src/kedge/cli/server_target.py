"""The server that a command line names (`kedge --server URL …`), for the commands that use it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple


class ServerTarget(NamedTuple):
    """The server that a command runs through."""

    url: str
    token: str
    cluster: str


chosen_server: ContextVar[ServerTarget] = ContextVar("chosen_server")
