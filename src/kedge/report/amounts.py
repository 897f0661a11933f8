"""Formats amounts of bytes and time: the texts of `kedge.model.amounts`."""

from kedge.model.amounts import bytes_text, duration_text

__all__ = ["bytes_text", "duration_text"]
