"""Errors of file systems in one sentence: what is wrong with the place, and what to do.

delta-rs, Arrow and Spark report the same fault in texts of their own, over many lines. A fault that
the user can mend is recognised by its text; all others keep the first line of it.
"""

from __future__ import annotations

import re
from typing import Final

from kedge.errors import InvalidRequest, KedgeError, Unavailable

SECRET: Final = re.compile(
    r"(?i)((?:key|secret|token|password|credential|signature|sig)[^=:\s]{0,20}[=:]\s*)\S+"
)
LINE_MAX: Final = 300
AGAIN: Final = "nothing of this run is in the tables; run the command again"

NO_BUCKET: Final = ("NoSuchBucket", "UnknownStoreException", "bucket does not exist")
FULL: Final = (
    *("No space left on device", "Disk quota exceeded", "DSQuotaExceededException"),
    *("NSQuotaExceededException", "could only be written to 0 of"),
)
DENIED: Final = (
    *("403 Forbidden", "401 Unauthorized", "lacked the necessary privileges", "InvalidAccessKeyId"),
    *("SignatureDoesNotMatch", "ExpiredToken", "AccessDeniedException", "AccessControlException"),
    *("NoAuthWithAWSException", "NoAwsCredentialsException", "169.254.169.254", "Access Denied"),
    *("Permission denied", "SaslException", "GSS initiate failed"),
)
SILENT: Final = ("Connection refused", "Connection reset", "timed out", "error sending request")


def store_error(place: str, text: str) -> KedgeError | None:
    """The error that a text of delta-rs, Arrow or Spark is about; None if it is another one."""
    if any(part in text for part in NO_BUCKET):
        bucket = "/".join(place.split("/")[:3])
        return InvalidRequest(f"{bucket}: no such bucket", hint="create it, or name another one")
    if any(part in text for part in FULL):
        hint = f"make room there, or where Spark has its scratch files; {AGAIN}"
        return Unavailable(f"{place}: no space left", hint=hint)
    if any(part in text for part in DENIED):
        hint = "the credentials are missing, wrong or expired, or have no right to it"
        return InvalidRequest(f"{place}: access denied", hint=hint)
    return None


def any_error(place: str, error: Exception) -> KedgeError:
    """The error of a place, recognised or not."""
    text = str(error)
    if any(part in text for part in SILENT):
        hint = "is the address right, and does the server run?"
        return Unavailable(f"{place}: the file system does not answer", hint=hint)
    return store_error(place, text) or Unavailable(f"{place}: {error_line(error)}")


def error_line(error: Exception) -> str:
    """The causes of an error in one line, without colours and without secrets."""
    plain = re.sub(r"\x1b\[\d+m", "", getattr(error, "strerror", None) or str(error))
    plain = re.split(r"\n\s*\d+: ", plain)[0]  # what follows is a stack trace
    parts = [part.strip(" ↳\t") for part in plain.splitlines()]
    return without_secrets(": ".join(part for part in parts if part))[:LINE_MAX]


def without_secrets(text: str) -> str:
    """The text without values of keys, secrets, tokens and signatures."""
    return SECRET.sub(r"\1…", text)
