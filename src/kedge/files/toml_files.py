"""Reads TOML from outside, with numbers as the decimals that are written."""

from __future__ import annotations

import tomllib
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from kedge.errors import MalformedInput
from kedge.files import read_text

TOML_MAX = 1_000_000  # bytes


def read_toml(path: Path) -> dict[str, Any]:
    """The document of a TOML file."""
    text = read_text(path, limit=TOML_MAX)
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except (InvalidOperation, ValueError, RecursionError) as fault:
        what = f"not TOML ({' '.join(str(fault).split())[:200]})"
        raise MalformedInput(what, place=str(path)) from fault
