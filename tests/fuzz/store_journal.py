"""The journal of the lab's store: damaged bytes, and damaged records under a right checksum."""

from __future__ import annotations

import struct
import tempfile
import zlib
from pathlib import Path
from random import Random

from kedge.store.journal import MAGIC, Journal
from kedge.store.port import Create, Delete, SetData
from kedge.store.tree import Refused
from tests.fuzz.driver import only_refusals, start
from tests.fuzz.mutation import mutated_bytes

HEAD = struct.Struct(">III")


def fuzz(seed: int) -> None:
    """Open a damaged journal; write to it and open it again if it opens."""
    random = Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "store")
        _write(path, random)
        whole = path.read_bytes()
        is_framed = random.random() < 0.5
        spoiled = _records_changed(whole, random) if is_framed else mutated_bytes(whole, random, 3)
        path.write_bytes(spoiled)
        with only_refusals():
            journal = Journal(path, fsync="never")
            nodes = sorted(journal.tree.nodes)
            journal.compact(journal.tree)
            journal.close()
            journal = Journal(path, fsync="never")
            assert sorted(journal.tree.nodes) == nodes
            journal.close()


def _write(path: Path, random: Random) -> None:
    journal = Journal(path, fsync="never")
    for n in range(random.randint(1, 8)):
        writes = [Create(f"/n{n}", b"data"), Create(f"/n{n}/x", None, ephemeral=n % 3 == 0)]
        more = [SetData(f"/n{n}", b"new"), Delete(f"/n{n}/x")][: random.randint(0, 2)]
        done = journal.tree.transact([*writes, *more], 7)
        assert not isinstance(done, Refused)
        journal.append([done[1]])
    if random.random() < 0.3:
        journal.compact(journal.tree)
    journal.close()


def _records_changed(whole: bytes, random: Random) -> bytes:
    out, at = bytearray(MAGIC), len(MAGIC)
    while at < len(whole):
        length = HEAD.unpack_from(whole, at)[0]
        payload = whole[at + HEAD.size : at + HEAD.size + length]
        at += HEAD.size + length
        if random.random() < 0.4:
            payload = mutated_bytes(payload, random, most=2)
        head = struct.pack(">II", len(payload), zlib.crc32(payload))
        out += head + zlib.crc32(head).to_bytes(4, "big") + payload
    return bytes(out)


if __name__ == "__main__":
    start(fuzz)
