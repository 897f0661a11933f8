"""Ids of topics, directories and incarnations: 128 bits, as the 22 letters that Kafka shows.

The first hundred values are reserved, and three of them say where a replica is when its directory
is not known.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TypeAlias

from kedge.topics import decode_id, is_reserved

Uuid: TypeAlias = str

ZERO: Uuid = "AAAAAAAAAAAAAAAAAAAAAA"

MIGRATING: Uuid = ZERO  # placed before brokers reported directories
UNASSIGNED: Uuid = "AAAAAAAAAAAAAAAAAAAAAQ"  # the broker has several, and has not chosen yet
LOST: Uuid = "AAAAAAAAAAAAAAAAAAAAAg"  # in some directory that is offline

# reserved ids are below 100, so all but their last letters are A
_RESERVED_PREFIX = "A" * 20


def reserved(directory: Uuid) -> bool:
    """Whether no directory may have this id."""
    return directory.startswith(_RESERVED_PREFIX) and is_reserved(directory)


def in_id_order(ids: Iterable[Uuid]) -> tuple[Uuid, ...]:
    """Ids as Kafka sorts them: as two signed numbers of 64 bits."""
    return tuple(sorted(ids, key=lambda text: struct.unpack(">qq", decode_id(text))))
