"""The tree of nodes, with ZooKeeper's rules for versions, transactions and sequential names.

- A node's version begins at 0 and grows by one with each write of its data.
- Each transaction has the next number of one counter (zxid); a node stores the number of the
  transaction that created it and of the one that last wrote its data.
- A sequential child is named by how many children its parent has ever had: deletions do not
  count, so a number is never used twice.
- An ephemeral node belongs to a session and can have no children.
- The writes of one transaction see each other's effect, and are all undone if one fails.

The tree has no sessions, watches or files: it returns the list of applied writes, from which the
ensemble derives watch events and journal records.
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

NO_OWNER = 0  # the owner of nodes that are not ephemeral


class TreeNode:
    """One node.

    `children_created` counts the children it ever had; `cached_read` is the answer to a read.
    """

    __slots__ = (
        "cached_read",
        "children",
        "children_created",
        "created",
        "data",
        "modified",
        "owner",
        "version",
    )

    def __init__(self, data: bytes | None, zxid: int, owner: int = NO_OWNER) -> None:
        self.data = data
        self.version = 0
        self.created = self.modified = zxid
        self.owner = owner
        self.children_created = 0
        self.children: set[str] | None = None
        self.cached_read: Node | None = None

    def stat(self) -> Stat:
        """Return the node's metadata in the form of the port."""
        children = len(self.children) if self.children else 0
        return Stat(self.version, self.created, self.modified, children, self.owner != NO_OWNER)

    def read(self) -> Node:
        """Return the answer to a read; it is built once for each state of the node."""
        answer = self.cached_read
        if answer is None:
            answer = self.cached_read = Node(self.data, self.stat())
        return answer


class Kind(IntEnum):
    """The kind of an applied write."""

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
    """The writes applied under one transaction number."""

    zxid: int
    applied: list[Applied]


def parent_of(path: str) -> str:
    """Return the path of the parent node."""
    return path[: path.rindex("/")] or "/"


def name_of(path: str) -> str:
    """Return the last part of a path."""
    return path[path.rindex("/") + 1 :]


def node_missing(path: str) -> NodeMissing:
    """Return the conflict for a node that does not exist."""
    return NodeMissing(f"{path}: no such node")


class Tree:
    """All nodes by their full path: a read is one dict lookup."""

    def __init__(self) -> None:
        self.nodes: dict[str, TreeNode] = {"/": TreeNode(b"", 0)}
        self.zxid = 0
        self.ephemerals: dict[int, set[str]] = {}
        self._handlers: dict[type, Callable[[Any, int, list[Applied]], Any]] = {
            Create: self._create,
            SetData: self._set,
            Delete: self._delete,
            Check: self._check,
        }

    def transact(
        self, writes: Sequence[Write], owner: int = NO_OWNER
    ) -> tuple[list[Created | Written | Done], Transaction] | Refused:
        """Apply writes together or not at all, for the session `owner`."""
        answers: list[Created | Written | Done] = []
        applied: list[Applied] = []
        self.zxid += 1
        for index, write in enumerate(writes):
            answer = self._handlers[type(write)](write, owner, applied)
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
            return node_missing(parent_path)
        if write.sequential:
            path = f"{path}{parent.children_created:010d}"
        if path in self.nodes:
            return NodeExists(f"{path}: the node exists")
        if parent.owner != NO_OWNER:
            return NodeEphemeral(f"{path}: the node above is ephemeral and can have no children")
        node = TreeNode(write.data, self.zxid, owner if write.ephemeral else NO_OWNER)
        self.insert(path, node, parent)
        parent.children_created += 1
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
            return node_missing(path)
        if version not in (ANY_VERSION, node.version):
            return StaleVersion(f"{path}: expected version {version}, found {node.version}")
        return node

    def insert(self, path: str, node: TreeNode, parent: TreeNode) -> None:
        """Link a node into the tree without counting it in `children_created`."""
        self.nodes[path] = node
        if parent.children is None:
            parent.children = set()
        parent.children.add(name_of(path))
        parent.cached_read = None
        if node.owner != NO_OWNER:
            self.ephemerals.setdefault(node.owner, set()).add(path)

    def remove(self, path: str, node: TreeNode) -> None:
        """Unlink a node from the tree."""
        parent = self.nodes[parent_of(path)]
        del self.nodes[path]
        assert parent.children is not None
        parent.children.discard(name_of(path))
        parent.cached_read = None
        if node.owner != NO_OWNER:
            owned = self.ephemerals[node.owner]
            owned.discard(path)
            if not owned:
                del self.ephemerals[node.owner]

    def _write(self, node: TreeNode, data: bytes | None, version: int, modified: int) -> None:
        node.data, node.version, node.modified = data, version, modified
        node.cached_read = None

    def _undo(self, applied: list[Applied]) -> None:
        for kind, path, node, _, before in reversed(applied):
            if kind is Kind.CREATED:
                self.remove(path, node)
                self.nodes[parent_of(path)].children_created -= 1
            elif kind is Kind.DELETED:
                self.insert(path, node, self.nodes[parent_of(path)])
            else:
                assert before is not None
                self._write(node, *before)
