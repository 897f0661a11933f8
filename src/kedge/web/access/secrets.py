"""Secrets that the server gives out: drawn here, and kept as digests only."""

from __future__ import annotations

import hashlib
import hmac
import secrets

TOKEN_PREFIX = "kedge"
SECRET_BYTES = 32


def new_secret() -> str:
    """A secret of 256 random bits."""
    return secrets.token_urlsafe(SECRET_BYTES)


def new_id() -> str:
    """An id that is not secret."""
    return secrets.token_hex(8)


def digest_of(secret: str) -> str:
    """What is kept of a secret. Its 256 random bits need no slow hash: they cannot be guessed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def same(first: str, second: str) -> bool:
    """Whether two texts are equal, in a time that does not depend on where they differ."""
    return hmac.compare_digest(first.encode(), second.encode())
