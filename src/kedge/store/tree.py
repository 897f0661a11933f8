"""The tree itself: nodes, versions and transactions, exactly as ZooKeeper counts them.

- A node's version begins at 0 and grows by one with each write of its data.
- Each transaction has the next number of one counter (zxid); a node remembers the number that
  created it and the number that last wrote its data.
- A sequential child is named by how many children its parent has ever had: deletions do not
  count, so a number is never given twice.
- An ephemeral node belongs to a session and can have no children.
- The writes of one transaction see each other's effect, and are all undone if one is refused.

The tree knows no sessions, watches or files: it says what was applied, in order, and others draw
their conclusions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, cast

from kedge.errors import (
    Conflict,
    NodeEphemeral,
    NodeExists,
    NodeMissing,
    NodeNotEmpty,
    StaleVersion,
)
from kedge.store.port import (
    ANY_VERSION,
    Check,
    Create,
    Created,
    Delete,
    Done,
    Node,
    Refused,
    SetData,
    Stat,
    Write,
    Written,
)

NOBODY = 0  # the owner of what is not ephemeral


class TreeNode:
    """One node. `births` counts the children it ever had; `answer` is a read's answer, kept."""

    __slots__ = ("answer", "births", "children", "created", "data", "modified", "owner", "version")

    def __init__(self, data: bytes | None, zxid: int, owner: int = NOBODY) -> None:
        self.data = data
        self.version = 0
        self.created = self.modified = zxid
        self.owner = owner
        self.births = 0
        self.children: set[str] | None = None
        self.answer: Node | None = None

    def stat(self) -> Stat:
        """The node's figures as the port tells them."""
        children = len(self.children) if self.children else 0
        return Stat(self.version, self.created, self.modified, children, self.owner != NOBODY)

    def read(self) -> Node:
        """The answer to a read, made once for each state of the node."""
        answer = self.answer
        if answer is None:
            answer = self.answer = Node(self.data, self.stat())
        return answer


class Kind(IntEnum):
    """What was done to a node."""

    CREATED = 1
    WRITTEN = 2
    DELETED = 3


class Applied(NamedTuple):
    """One write that took effect; `before` is (data, version, modified) of a node written."""

    kind: Kind
    path: str
    node: TreeNode
    data: bytes | None = None
    before: tuple[bytes | None, int, int] | None = None


class Transaction(NamedTuple):
    """What was applied under one number."""

    zxid: int
    applied: list[Applied]


def parent_of(path: str) -> str:
    """The path of the node above."""
    return path[: path.rindex("/")] or "/"


def name_of(path: str) -> str:
    """The last part of a path."""
    return path[path.rindex("/") + 1 :]


def missing(path: str) -> NodeMissing:
    """The refusal for a node that is not there."""
    return NodeMissing(f"{path}: no such node")


class Tree:
    """All nodes by their full path, so that a read never walks."""

    def __init__(self) -> None:
        self.nodes: dict[str, TreeNode] = {"/": TreeNode(b"", 0)}
        self.zxid = 0
        self.ephemerals: dict[int, set[str]] = {}
        self._carry_out: dict[type, Callable[[Any, int, list[Applied]], Any]] = {
            Create: self._create,
            SetData: self._set,
            Delete: self._delete,
            Check: self._check,
        }

    def transact(
        self, writes: Sequence[Write], owner: int = NOBODY
    ) -> tuple[list[Created | Written | Done], Transaction] | Refused:
        """Carry out writes together or not at all, for the session `owner`."""
        answers: list[Created | Written | Done] = []
        applied: list[Applied] = []
        self.zxid += 1
        for index, write in enumerate(writes):
            answer = self._carry_out[type(write)](write, owner, applied)
            if isinstance(answer, Conflict):
                self._undo(applied)
                self.zxid -= 1
                return Refused(index, answer)
            answers.append(cast("Created | Written | Done", answer))
        return answers, Transaction(self.zxid, applied)

    def end_session(self, owner: int) -> Transaction:
        """Delete a session's ephemeral nodes in one transaction."""
        paths = sorted(self.ephemerals.get(owner, ()))
        result = self.transact([Delete(path) for path in paths])
        assert not isinstance(result, Refused), "an ephemeral node is there and has no children"
        return result[1]

    def _create(self, write: Create, owner: int, applied: list[Applied]) -> Created | Conflict:
        path = write.path
        if path == "/" and not write.sequential:
            return NodeExists("/: the node exists")
        parent_path = parent_of(path)
        parent = self.nodes.get(parent_path)
        if parent is None:
            return missing(parent_path)
        if write.sequential:
            path = f"{path}{parent.births:010d}"
        if path in self.nodes:
            return NodeExists(f"{path}: the node exists")
        if parent.owner != NOBODY:
            return NodeEphemeral(f"{path}: the node above is ephemeral and can have no children")
        node = TreeNode(write.data, self.zxid, owner if write.ephemeral else NOBODY)
        self.insert(path, node, parent)
        parent.births += 1
        applied.append(Applied(Kind.CREATED, path, node, write.data))
        return Created(path, node.stat())

    def _set(self, write: SetData, _owner: int, applied: list[Applied]) -> Written | Conflict:
        node = self._expect(write.path, write.version)
        if isinstance(node, Conflict):
            return node
        before = (node.data, node.version, node.modified)
        self._write(node, write.data, node.version + 1, self.zxid)
        applied.append(Applied(Kind.WRITTEN, write.path, node, write.data, before))
        return Written(node.stat())

    def _delete(self, write: Delete, _owner: int, applied: list[Applied]) -> Done | Conflict:
        node = self._expect(write.path, write.version)
        if isinstance(node, Conflict):
            return node
        if node.children:
            return NodeNotEmpty(f"{write.path}: the node has {len(node.children)} children")
        self.remove(write.path, node)
        applied.append(Applied(Kind.DELETED, write.path, node))
        return Done()

    def _check(self, write: Check, _owner: int, _applied: list[Applied]) -> Done | Conflict:
        node = self._expect(write.path, write.version)
        return node if isinstance(node, Conflict) else Done()

    def _expect(self, path: str, version: int) -> TreeNode | Conflict:
        node = self.nodes.get(path)
        if node is None:
            return missing(path)
        if version not in (ANY_VERSION, node.version):
            return StaleVersion(f"{path}: expected version {version}, found {node.version}")
        return node

    def insert(self, path: str, node: TreeNode, parent: TreeNode) -> None:
        """Hang a node into the tree, counting nothing."""
        self.nodes[path] = node
        if parent.children is None:
            parent.children = set()
        parent.children.add(name_of(path))
        parent.answer = None
        if node.owner != NOBODY:
            self.ephemerals.setdefault(node.owner, set()).add(path)

    def remove(self, path: str, node: TreeNode) -> None:
        """Take a node out of the tree."""
        parent = self.nodes[parent_of(path)]
        del self.nodes[path]
        assert parent.children is not None
        parent.children.discard(name_of(path))
        parent.answer = None
        if node.owner != NOBODY:
            owned = self.ephemerals[node.owner]
            owned.discard(path)
            if not owned:
                del self.ephemerals[node.owner]

    def _write(self, node: TreeNode, data: bytes | None, version: int, modified: int) -> None:
        node.data, node.version, node.modified = data, version, modified
        node.answer = None

    def _undo(self, applied: list[Applied]) -> None:
        for kind, path, node, _, before in reversed(applied):
            if kind is Kind.CREATED:
                self.remove(path, node)
                self.nodes[parent_of(path)].births -= 1
            elif kind is Kind.DELETED:
                self.insert(path, node, self.nodes[parent_of(path)])
            else:
                assert before is not None
                self._write(node, *before)
