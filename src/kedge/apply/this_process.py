"""Names this process as the owner of runs, and finds out whether another owner here is dead."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from secrets import token_hex

from kedge.apply.run_records import Owner

_PROC = Path("/proc")
_STATE, _STARTED = 2 - 2, 21 - 2  # fields of /proc/<pid>/stat after the name of the program
_ENDED = ("Z", "X")  # killed and not waited for yet; dead


def this_process() -> Owner:
    """This process as an owner; each call gives another nonce."""
    pid = os.getpid()
    stat = _stat(pid)
    return Owner(
        host=socket.gethostname(),
        pid=pid,
        nonce=token_hex(8),
        machine=_machine(),
        started=stat[_STARTED] if stat else "",
    )


def is_alive(owner: Owner) -> bool | None:
    """Whether an owner on this machine still runs; None wherever that is not certain."""
    if not owner.machine or owner.machine != _machine() or not owner.started:
        return None
    stat = _stat(owner.pid)
    return stat is not None and stat[_STATE] not in _ENDED and stat[_STARTED] == owner.started


def is_known_dead(owner: Owner) -> bool:
    """Whether an owner ran on this machine and has ended; False wherever that is not certain."""
    return is_alive(owner) is False


def owner_text(owner: Owner) -> str:
    """An owner as the text that a database keeps."""
    fields = (owner.host, owner.pid, owner.nonce, owner.machine, owner.started)
    return json.dumps(fields)


def owner_from_text(text: str) -> Owner:
    """The owner of a text that `owner_text` wrote."""
    host, pid, nonce, machine, started = json.loads(text)
    return Owner(host=host, pid=pid, nonce=nonce, machine=machine, started=started)


def has_ended(text: str) -> bool:
    """Whether the owner of a text is known to have ended; False for texts of other forms."""
    try:
        return is_known_dead(owner_from_text(text))
    except ValueError:
        return False


def _machine() -> str:
    """This boot of this machine, and the namespace that process ids are counted in."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink(_PROC / 'self/ns/pid')}"
    except OSError:
        return ""


def _stat(pid: int) -> list[str] | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name of the program is in parentheses and may have blanks and parentheses of its own.
    return text.rpartition(")")[2].split()
