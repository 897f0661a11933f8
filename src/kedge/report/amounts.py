"""Formats amounts of bytes and time (the texts of `kedge.model.amounts`), and shares."""

from kedge.model.amounts import bytes_text, duration_text

__all__ = ["bytes_text", "duration_text", "share_text"]

SMALL = 0.1


def share_text(share: float) -> str:
    """A share in percent; below a tenth with one digit more, so that brokers can be told apart."""
    return f"{share:.1%}" if share < SMALL else f"{share:.0%}"
