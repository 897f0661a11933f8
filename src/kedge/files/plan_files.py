"""Reads a plan from a file, which may also be a reassignment file of Kafka's tools."""

from __future__ import annotations

import os
from pathlib import Path

from kedge.files import read_bytes, said_of
from kedge.plan import Plan, ReassignmentFile, is_plan, parse_execute, parse_plan


def read_plan_file(path: str | os.PathLike[str]) -> Plan | ReassignmentFile:
    """The plan in a file, or the moves of a file that Kafka's tools take."""
    data = read_bytes(path)
    with said_of(Path(path)):
        return parse_plan(data) if is_plan(data) else parse_execute(data.decode(errors="replace"))
