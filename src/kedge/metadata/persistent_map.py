"""A map that is never changed: an edited one shares all but the touched parts with the old one.

Keys are spread over shards by their hash. An edit copies the shards that it touches, each once, so
a change of one entry among two hundred thousand copies some hundreds, and ten thousand changes in
one edit copy each shard once. Iteration has no order: sort where order matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

SHARDS = 256
_MASK = SHARDS - 1


class PersistentMap(Mapping[Key, Value]):
    """A map whose edits are new maps."""

    __slots__ = ("_shards", "_size")

    def __init__(self, entries: Mapping[Key, Value] | None = None) -> None:
        self._shards: tuple[dict[Key, Value], ...] = _NO_SHARDS
        self._size = 0
        if entries:
            edit = self.edit()
            for key, value in entries.items():
                edit[key] = value
            done = edit.finish()
            self._shards, self._size = done._shards, done._size

    def __getitem__(self, key: Key) -> Value:
        return self._shards[hash(key) & _MASK][key]

    def get(self, key: Key, default: Value | None = None) -> Value | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._shards[hash(key) & _MASK].get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._shards[hash(key) & _MASK]

    def __iter__(self) -> Iterator[Key]:
        for shard in self._shards:
            if shard:
                yield from shard

    def __len__(self) -> int:
        return self._size

    def edit(self) -> MapEdit[Key, Value]:
        """Begin an edit; this map stays as it is."""
        return MapEdit(self._shards, self._size)


_NOTHING: dict[Any, Any] = {}
_NO_SHARDS = (_NOTHING,) * SHARDS


class MapEdit(Generic[Key, Value]):
    """Changes to a map, until they are finished."""

    __slots__ = ("_base", "_mine", "_size")

    def __init__(self, base: tuple[dict[Key, Value], ...], size: int) -> None:
        self._base = base
        self._mine: dict[int, dict[Key, Value]] = {}
        self._size = size

    def _shard(self, key: Key) -> dict[Key, Value]:
        at = hash(key) & _MASK
        shard = self._mine.get(at)
        return self._base[at] if shard is None else shard

    def _own(self, key: Key) -> dict[Key, Value]:
        at = hash(key) & _MASK
        shard = self._mine.get(at)
        if shard is None:
            shard = self._mine[at] = dict(self._base[at])
        return shard

    def get(self, key: Key) -> Value | None:
        """The value as edited so far."""
        return self._shard(key).get(key)

    def __contains__(self, key: Key) -> bool:
        return key in self._shard(key)

    def __setitem__(self, key: Key, value: Value) -> None:
        at = hash(key) & _MASK  # as `_own` does, without a call: replays spend their time here
        shard = self._mine.get(at)
        if shard is None:
            shard = self._mine[at] = dict(self._base[at])
        before = len(shard)
        shard[key] = value
        self._size += len(shard) - before

    def discard(self, key: Key) -> None:
        """Remove a key, if it is there."""
        if key in self._shard(key):
            del self._own(key)[key]
            self._size -= 1

    def finish(self) -> PersistentMap[Key, Value]:
        """The edited map."""
        done: PersistentMap[Key, Value] = PersistentMap()
        if self._mine:
            shards = list(self._base)
            for at, shard in self._mine.items():
                shards[at] = shard
            self._mine = {}
            self._base = tuple(shards)
        done._shards = self._base  # pyright: ignore[reportPrivateUsage]
        done._size = self._size  # pyright: ignore[reportPrivateUsage]
        return done
