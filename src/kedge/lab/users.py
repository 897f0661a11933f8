"""The users of a lab that asks for passwords, and what a lab that asks for none is exposed to.

The file has a line `name:password` for each user. Empty lines and lines that begin with # are
passed over; a password may have colons in it.
"""

from __future__ import annotations

import ipaddress
import stat
from pathlib import Path

from kedge.errors import InvalidRequest, MalformedInput
from kedge.files import read_text, with_path_context
from kedge.lab.settings import LabSettings

_FILE_BYTES_MAX = 1 << 20


def read_users(path: Path) -> dict[str, str]:
    """Passwords by name. A fault names the line and never quotes it."""
    with with_path_context(path):
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise InvalidRequest(
                f"{path}: others can read these passwords", hint=f"chmod 600 {path}"
            )
    users: dict[str, str] = {}
    text = read_text(path, limit=_FILE_BYTES_MAX)
    with with_path_context(path):
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            name, _, password = line.partition(":")
            if not name or not password or "\0" in line or name in users:
                raise MalformedInput(
                    f"line {number} names no new user", hint="write name:password in each line"
                )
            users[name] = password
        if not users:
            raise MalformedInput("there are no users", hint="write name:password in each line")
    return users


def exposure(settings: LabSettings) -> str:
    """What to warn of: other machines may reach the lab. Empty where they cannot."""
    if _is_loopback(settings.host):
        return ""
    if settings.sasl_users:
        return (
            f"the lab listens on {settings.host}: passwords and data cross the network "
            "unencrypted; use it in a network that you trust"
        )
    return (
        f"the lab listens on {settings.host} and asks for no password: every machine that "
        "reaches it can change it; use --host 127.0.0.1 or --sasl-users FILE"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
