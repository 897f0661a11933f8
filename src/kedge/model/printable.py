"""Text from outside for a terminal: what would steer it is shown, not sent.

Names of topics, racks and clusters are free text. A name with an escape sequence in it could set
the terminal's title, move its cursor or forge lines of output, and one with marks for writing from
right to left could be read as another. Each such character is shown as its escape:

    orders<ESC>]0;owned<BEL>   is shown as   orders\\x1b]0;owned\\x07

From U+007F on the escape is one that JSON has too, so that a line of JSON stays the same JSON.
"""

from __future__ import annotations

import re

# Control characters but the tab, marks of direction, separators of lines, and halves of surrogate
# pairs, which no encoding can write.
_UNSAFE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_SHORT = {"\n": "\\n", "\r": "\\r"}


def printable(line: str) -> str:
    """A line that a terminal shows as it is: no control characters and no line breaks in it."""
    return line if line.isprintable() else _UNSAFE.sub(_escaped, line)


def _escaped(found: re.Match[str]) -> str:
    sign = found[0]
    code = ord(sign)
    return _SHORT.get(sign) or (f"\\x{code:02x}" if code < 0x7F else f"\\u{code:04x}")
