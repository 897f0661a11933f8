"""What a controller needs of its machine: random ids, names of hosts, a lock on its directory."""

from __future__ import annotations

import os
import random
import socket
from pathlib import Path

from kedge.errors import Conflict
from kedge.topics import encode_id


def new_id() -> str:
    """A random id that is not reserved and does not begin with a dash."""
    while True:
        text = encode_id(random.SystemRandom().randbytes(16))
        if not text.startswith(("-", "A" * 20)):
            return text


def resolves(host: str) -> bool:
    """Whether a host has an address."""
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        return False
    return True


def locked(directory: Path) -> int:
    """A lock on a directory, by Kafka's own file: two processes on one log would destroy it."""
    import fcntl

    handle = os.open(directory / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise Conflict(
            f"{directory} is in use by another process", hint="stop that one first"
        ) from None
    return handle
