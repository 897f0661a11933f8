"""Why a topic cannot have a name, in Kafka's words."""

from __future__ import annotations

from kedge.topics import is_valid_name
from kedge.topics.names import LENGTH_MAX


def name_fault(name: str) -> str | None:
    """The reason in the answer to clients, or None for a valid name."""
    if is_valid_name(name):
        return None
    prefix = "Topic name is invalid: "
    if not name:
        return f"{prefix}the empty string is not allowed"
    if name in (".", ".."):
        return f"{prefix}'{name}' is not allowed"
    if len(name) > LENGTH_MAX:
        return f"{prefix}the length of '{name}' is longer than the max allowed length {LENGTH_MAX}"
    return (
        f"{prefix}'{name}' contains one or more characters other than ASCII alphanumerics, '.', "
        "'_' and '-'"
    )
