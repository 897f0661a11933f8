"""Escapes control characters in text from outside before it is printed on a terminal.

Names of topics, racks and clusters are free text. A name with an escape sequence could set the
terminal's title, move its cursor or forge lines of output, and one with right-to-left marks could
be read as another. Each such character is printed as its escape:

    orders<ESC>]0;owned<BEL>   is printed as   orders\\x1b]0;owned\\x07

From U+007F on the escape is also valid JSON, so that a line of JSON keeps its meaning.
"""

from __future__ import annotations

import re

# control characters except tab, direction marks, line separators, and unpaired surrogates, which no
# encoding can write
_UNSAFE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_SHORT = {"\n": "\\n", "\r": "\\r"}


def printable(line: str) -> str:
    """Return a line without control characters and line breaks."""
    return line if line.isprintable() else _UNSAFE.sub(_escaped, line)


def _escaped(found: re.Match[str]) -> str:
    sign = found[0]
    code = ord(sign)
    return _SHORT.get(sign) or (f"\\x{code:02x}" if code < 0x7F else f"\\u{code:04x}")
