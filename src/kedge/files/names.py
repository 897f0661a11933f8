"""Makes one path component of any name.

Cluster names, run ids and the like are free text: `../../etc` is a valid one. Each becomes exactly
one path component, and two different names never share one:

    prod-eu          prod-eu
    ../../etc        %2E.%2F..%2Fetc
    a b              a%20b
    (empty)          %
    300 letters      the first 100, then %~ and the SHA-256 of the name
"""

from __future__ import annotations

import hashlib
import re

COMPONENT_BYTES_MAX = 200  # file systems take 255; an ending such as .json.partial must fit too
PREFIX_BYTES = 100
EMPTY = "%"
_ESCAPED = re.compile(rb"[^A-Za-z0-9_.-]|\A\.")


def path_component(name: str) -> str:
    """The one path component for a name; names of letters, digits, `_`, `-` and `.` are kept."""
    data = name.encode("utf-8", "surrogatepass")
    text = _ESCAPED.sub(lambda found: b"%%%02X" % found[0][0], data).decode()
    if len(text) > COMPONENT_BYTES_MAX:
        return f"{text[:PREFIX_BYTES]}%~{hashlib.sha256(data).hexdigest()}"
    return text or EMPTY
