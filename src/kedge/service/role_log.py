"""Logs the role of this process, active or standby, at the start and on each change."""

from __future__ import annotations

from kedge.errors import KedgeError
from kedge.runtime import ControllerView, LogEntry, Loop, Sink
from kedge.store.port import GetData, Node, Store
from kedge.store.znodes import CONTROLLER_EPOCH, decode_controller_epoch


class RoleLog:
    """Compares the role with the one that was logged last; `update` is called periodically."""

    def __init__(self, loop: Loop, store: Store, log: Sink) -> None:
        self._loop = loop
        self._store = store
        self._log = log
        self._known: tuple[object, ...] = ()

    def update(self) -> None:
        """Log the role if it has changed."""
        view = self._loop.view
        now = (self._loop.connected, view.active_controller)
        if now == self._known:
            return
        text = self._text(view)
        self._known = now
        self._log(LogEntry("role", text))

    def _text(self, view: ControllerView) -> str:
        if not self._loop.connected:
            return "standby: no session with ZooKeeper"
        if view.active:
            return f"active: this node is the controller, epoch {view.epoch}"
        if view.active_controller is None:
            return "standby: there is no controller"
        return f"standby: controller is node {view.active_controller}, epoch {self._epoch()}"

    def _epoch(self) -> str:
        try:
            (answer,) = self._store.batch([GetData(CONTROLLER_EPOCH)])
            return str(decode_controller_epoch(answer.data)) if isinstance(answer, Node) else "?"
        except KedgeError:
            return "?"
