"""The store as a controller may use it: reads for everyone, writes only for who holds the role.

Every write is one transaction with a check of the controller epoch's version, so a controller
that has been replaced writes nothing, however long it takes to notice.
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
    """For those who do not want to know."""


class FencedStore:
    """A store and the version of the controller epoch that our writes depend on.

    `warn` takes one sentence on each thing in the store that cannot be read.
    """

    def __init__(self, store: Store, warn: Callable[[str], None] = ignore_warning) -> None:
        self.store = store
        self.warn = warn
        self.fence: int | None = None  # None while we do not hold the role

    # ---- reads --------------------------------------------------------------------------------

    def read(self, requests: Sequence[Read]) -> list[Answer]:
        """Answers in order."""
        return self.store.batch(requests)

    def nodes(self, paths: Sequence[str], *, watch: bool = False) -> list[Node | None]:
        """Nodes' data, None where there is none."""
        answers = self.store.batch([GetData(path, watch) for path in paths])
        return [answer if isinstance(answer, Node) else None for answer in answers]

    def node(self, path: str, *, watch: bool = False) -> Node | None:
        """One node's data."""
        return self.nodes([path], watch=watch)[0]

    def children(self, path: str, *, watch: bool = False) -> tuple[str, ...]:
        """The names of a node's children; none where there is no node."""
        (answer,) = self.store.batch([GetChildren(path, watch)])
        return answer.names if isinstance(answer, Children) else ()

    def watched(self, path: str) -> Node | None:
        """A node's data, None where there is none; its creation or next change is told."""
        presence, answer = self.store.batch([Exists(path, watch=True), GetData(path)])
        found = isinstance(presence, Presence) and presence.stat is not None
        return answer if found and isinstance(answer, Node) else None

    # ---- writes -------------------------------------------------------------------------------

    def write(self, changes: Sequence[Change]) -> list[Outcome]:
        """Carry out changes, each for itself, in one round; refusals are answers."""
        return [
            answer if isinstance(answer, Conflict) else answer[0]
            for answer in self.write_together([(change,) for change in changes])
        ]

    def write_one(self, change: Change) -> Outcome:
        """Carry out one change."""
        return self.write([change])[0]

    def write_together(
        self, groups: Sequence[tuple[Change, ...]]
    ) -> list[tuple[Created | Written | Done, ...] | Conflict]:
        """Carry out groups of changes, each group whole or not at all, in one round."""
        if self.fence is None:
            raise ControllerMoved("this process does not hold the controller's role")
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
            "the controller epoch is no longer ours", hint="another controller has been elected"
        )
