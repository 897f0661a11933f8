"""JKS stores as Java writes them."""

from __future__ import annotations

import hashlib
import struct

from kedge.cluster.tls import SALT

PASSWORD = "opensesame"


def jks(*certificates: bytes, password: str = PASSWORD, tag: int = 2) -> bytes:
    """A JKS store as Java writes it."""
    body = struct.pack(">III", 0xFEEDFEED, 2, len(certificates))
    for number, der in enumerate(certificates):
        alias = f"ca{number}".encode()
        body += struct.pack(">IH", tag, len(alias)) + alias + struct.pack(">Q", 0)
        body += struct.pack(">H", 5) + b"X.509" + struct.pack(">I", len(der)) + der
    return body + hashlib.sha1(password.encode("utf-16-be") + SALT + body).digest()
