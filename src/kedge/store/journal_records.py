"""Binary records of the journal: transactions and snapshots of the tree.

A record is the number of its transaction and then its entries, one after the other:

    created   1  owner (8)  path  data
    written   2             path  data
    deleted   3             path
    node      4  owner (8)  version (4)  created (8)  modified (8)  children created (8)  path  data

A path is its length (4) and UTF-8; data is its length (4, −1 for none) and the bytes. Numbers are
big-endian. `node` entries make up a snapshot, which holds every node with its metadata, parents
before children; the root is always its first entry.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from kedge.store.port import Create, Delete, SetData, Write
from kedge.store.tree import NO_OWNER, Kind, Refused, Transaction, Tree, TreeNode, parent_of

_ZXID = struct.Struct(">q")
_LENGTH = struct.Struct(">i")
_OWNER = struct.Struct(">q")
_NODE = struct.Struct(">qiqqq")
_NODE_ENTRY = 4
_NODES_PER_RECORD = 10_000


class UnreadableRecord(ValueError):
    """Bytes that match their checksum but are not a valid record."""


def encode_transaction(transaction: Transaction) -> bytes:
    """Encode one transaction as a record."""
    out = bytearray(_ZXID.pack(transaction.zxid))
    for kind, path, node, data, _ in transaction.applied:
        out.append(kind)
        if kind is Kind.CREATED:
            out += _OWNER.pack(node.owner)
        _put_path(out, path)
        if kind is not Kind.DELETED:
            _put_data(out, data)
    return bytes(out)


def encode_snapshot(tree: Tree) -> Iterator[bytes]:
    """Encode the whole tree as records of some thousand nodes each."""
    out = bytearray()
    # a parent's path is a prefix of its children's and so sorts before them
    for count, path in enumerate(sorted(tree.nodes)):
        if count % _NODES_PER_RECORD == 0:
            if out:
                yield bytes(out)
            out = bytearray(_ZXID.pack(tree.zxid))
        _put_node(out, path, tree.nodes[path])
    yield bytes(out)


def _put_node(out: bytearray, path: str, node: TreeNode) -> None:
    out.append(_NODE_ENTRY)
    out += _NODE.pack(node.owner, node.version, node.created, node.modified, node.children_created)
    _put_path(out, path)
    _put_data(out, node.data)


def _put_path(out: bytearray, path: str) -> None:
    text = path.encode()
    out += _LENGTH.pack(len(text))
    out += text


def _put_data(out: bytearray, data: bytes | None) -> None:
    out += _LENGTH.pack(-1 if data is None else len(data))
    out += data or b""


def apply_record(tree: Tree, record: bytes) -> None:
    """Apply the writes of a record to the tree."""
    try:
        _RecordReader(record).apply_to(tree)
    except (struct.error, ValueError, LookupError) as error:
        raise UnreadableRecord(str(error)) from error


class _RecordReader:
    def __init__(self, record: bytes) -> None:
        self._record = record
        self._at = 0

    def apply_to(self, tree: Tree) -> None:
        (zxid,) = self._take(_ZXID)
        while self._at < len(self._record):
            kind = self._record[self._at]
            self._at += 1
            if kind == _NODE_ENTRY:
                self._restore_node(tree)
            else:
                self._replay(tree, kind, zxid)
        tree.zxid = zxid

    def _restore_node(self, tree: Tree) -> None:
        owner, version, created, modified, children_created = self._take(_NODE)
        path, data = self._take_path(), self._take_data()
        node = tree.nodes["/"] if path == "/" else TreeNode(data, created, owner)
        node.data, node.version, node.modified = data, version, modified
        node.children_created = children_created
        if path != "/":
            tree.insert(path, node, tree.nodes[parent_of(path)])

    def _replay(self, tree: Tree, kind: int, zxid: int) -> None:
        owner = self._take(_OWNER)[0] if kind == Kind.CREATED else NO_OWNER
        path = self._take_path()
        # each write is applied as its own transaction, under its original number
        tree.zxid = zxid - 1
        result = tree.transact((self._write(kind, path, owner),), owner)
        if isinstance(result, Refused):
            raise UnreadableRecord(str(result.error))

    def _write(self, kind: int, path: str, owner: int) -> Write:
        if kind == Kind.CREATED:
            return Create(path, self._take_data(), ephemeral=owner != NO_OWNER)
        if kind == Kind.WRITTEN:
            return SetData(path, self._take_data())
        if kind == Kind.DELETED and path != "/":
            return Delete(path)
        raise UnreadableRecord(f"an entry of unknown kind {kind}")

    def _take(self, form: struct.Struct) -> tuple[int, ...]:
        values = form.unpack_from(self._record, self._at)
        self._at += form.size
        return values

    def _take_bytes(self, length: int) -> bytes:
        end = self._at + length
        if length < 0 or end > len(self._record):
            raise UnreadableRecord("an entry is longer than its record")
        taken, self._at = self._record[self._at : end], end
        return taken

    def _take_path(self) -> str:
        path = self._take_bytes(self._take(_LENGTH)[0]).decode()
        if not path.startswith("/"):
            raise UnreadableRecord("a path does not begin with a slash")
        return path

    def _take_data(self) -> bytes | None:
        (length,) = self._take(_LENGTH)
        return None if length == -1 else self._take_bytes(length)
