"""A controller in memory, for tests of what stands in front of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kedge.kraft import Controller
from kedge.kraft_rpc import Dispatched, Finished, dispatch
from kedge.metadata import Image, Settings
from kedge.quorum.node import Node
from kedge.quorum.values import EpochOffset
from tests.kraft.nodes import Quorum


class Served:
    """A controller of a quorum in memory, as handlers see it."""

    def __init__(self, quorum: Quorum, node: int | None = None) -> None:
        self.quorum = quorum
        self.controller: Controller = quorum.running[node] if node else quorum.active()

    @property
    def stable(self) -> Image:
        return self.controller.stable

    @property
    def settings(self) -> Settings:
        return self.controller.config.settings

    @property
    def node(self) -> Node:
        return self.controller.node

    @property
    def applied(self) -> EpochOffset:
        return self.controller.applied

    @property
    def is_active(self) -> bool:
        return self.controller.is_active

    @property
    def properties(self) -> Mapping[str, str]:
        return {}

    def read(self, request: Any) -> Any:
        return self.controller.read(request)

    def answer(self, payload: bytes) -> bytes:
        """The frame of the answer, once it is committed."""
        found = dispatch(self, payload)
        while isinstance(found, Dispatched):
            asked = found.asks
            found = found.resume(self.quorum.ask_node(self.controller, asked))
        assert isinstance(found, Finished)
        return found.frame
