"""The text of `--broker-list`: `0,1,2`.

Nothing is trimmed. The pieces are split as Java splits: empty ones at the end vanish, so `0,1,` is
fine and `,` alone is no broker at all, while the empty text is one empty piece and refused.
"""

from __future__ import annotations

from kedge.errors import MalformedNumber, RefusedCommand
from kedge.model import BrokerId
from kedge.model.java_text import split, whole_number
from kedge.plan.kafka_json import joined, repeated


def parse_broker_list(text: str) -> tuple[BrokerId, ...]:
    """Read the brokers that a proposal may use, in the order given."""
    brokers = tuple(broker_id(piece, i) for i, piece in enumerate(split(text, ",")))
    if twice := repeated(brokers):
        raise RefusedCommand(f"the broker list names broker {joined(twice)} more than once")
    return brokers


def broker_id(piece: str, position: int) -> BrokerId:
    """One piece of the list."""
    number = whole_number(piece)
    if number is not None:
        return BrokerId(number)
    raise MalformedNumber(
        f"{piece!r} is not a whole number in 32 bits",
        place=f"broker list, item {position + 1}",
        hint="separate ids by commas alone, as in 0,1,2",
    )
