"""The store with fenced writes: only the active controller can write.

Every write is one transaction with a check of the controller epoch's version, so a controller that
has been replaced writes nothing, even before it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kedge.errors import Conflict, ControllerMoved
from kedge.store.port import (
    Answer,
    Check,
    Children,
    Committed,
    Create,
    Created,
    Delete,
    Done,
    Exists,
    GetChildren,
    GetData,
    Multi,
    Node,
    Presence,
    Refused,
    SetData,
    Store,
    Written,
)
from kedge.store.znodes import CONTROLLER_EPOCH

Read = GetData | GetChildren | Exists
Change = Create | SetData | Delete
Outcome = Created | Written | Done | Conflict


def ignore_warning(_words: str) -> None:
    """The default for `warn`."""


class FencedStore:
    """A store and the version of the controller epoch that writes depend on.

    `warn` gets one sentence about each node that cannot be read.
    """

    def __init__(self, store: Store, warn: Callable[[str], None] = ignore_warning) -> None:
        self.store = store
        self.warn = warn
        self.fence: int | None = None  # None while this process is not active

    # ---- reads --------------------------------------------------------------------------------

    def read(self, requests: Sequence[Read]) -> list[Answer]:
        """Return answers in sequence."""
        return self.store.batch(requests)

    def nodes(self, paths: Sequence[str], *, watch: bool = False) -> list[Node | None]:
        """Return nodes' data, None where a node is absent."""
        answers = self.store.batch([GetData(path, watch) for path in paths])
        return [answer if isinstance(answer, Node) else None for answer in answers]

    def node(self, path: str, *, watch: bool = False) -> Node | None:
        """Return one node's data."""
        return self.nodes([path], watch=watch)[0]

    def children(self, path: str, *, watch: bool = False) -> tuple[str, ...]:
        """Return the names of a node's children; none if it is absent."""
        (answer,) = self.store.batch([GetChildren(path, watch)])
        return answer.names if isinstance(answer, Children) else ()

    def watched(self, path: str) -> Node | None:
        """Return a node's data, None if absent; its creation or next change is watched."""
        presence, answer = self.store.batch([Exists(path, watch=True), GetData(path)])
        found = isinstance(presence, Presence) and presence.stat is not None
        return answer if found and isinstance(answer, Node) else None

    # ---- writes -------------------------------------------------------------------------------

    def write(self, changes: Sequence[Change]) -> list[Outcome]:
        """Apply changes, each on its own, in one round trip; conflicts are answers."""
        return [
            answer if isinstance(answer, Conflict) else answer[0]
            for answer in self.write_together([(change,) for change in changes])
        ]

    def write_one(self, change: Change) -> Outcome:
        """Apply one change."""
        return self.write([change])[0]

    def write_together(
        self, groups: Sequence[tuple[Change, ...]]
    ) -> list[tuple[Created | Written | Done, ...] | Conflict]:
        """Apply groups of changes, each group atomically, in one round trip."""
        if self.fence is None:
            raise ControllerMoved("this process is not the active controller")
        check = Check(CONTROLLER_EPOCH, self.fence)
        answers = self.store.batch([Multi((check, *group)) for group in groups])
        return [self._checked(answer) for answer in answers]

    @staticmethod
    def _checked(answer: Answer) -> tuple[Created | Written | Done, ...] | Conflict:
        if isinstance(answer, Committed):
            return answer.answers[1:]
        if isinstance(answer, Refused) and answer.index > 0:
            return answer.error
        raise ControllerMoved(
            "the controller epoch has changed", hint="another controller has been elected"
        )
