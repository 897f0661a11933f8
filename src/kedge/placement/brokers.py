"""Which brokers take part in a placement, and whether their racks count (KIP-36)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from kedge.errors import DuplicateInRequest, InconsistentRacks, InvalidReplicaAssignment
from kedge.model import Broker, BrokerId

_NAMED_AT_MOST = 5  # ids in an error's sentence; a thousand of them would hide the point


class RackMode(StrEnum):
    """What to do about racks when replicas are placed."""

    DISABLED = "Disabled"  # as if no broker had a rack
    ENFORCED = "Enforced"  # all brokers have a rack or none has; anything between is refused
    SAFE = "Safe"  # racks count only if all brokers have one


def choose_brokers(
    registered: Iterable[Broker],
    mode: RackMode = RackMode.ENFORCED,
    only: Collection[BrokerId] | None = None,
) -> list[Broker]:
    """The brokers to place on, sorted by id, their racks kept or dropped as the mode says.

    Ids in `only` that are not registered are skipped. Racks are judged after that choice, so a
    cluster with mixed racks can be used in part.
    """
    wanted = None if only is None else frozenset(only)
    chosen = sorted(
        (b for b in registered if wanted is None or b.id in wanted), key=lambda broker: broker.id
    )
    if mode is RackMode.ENFORCED:
        refuse_mixed_racks(chosen)
    elif mode is RackMode.DISABLED or any(b.rack is None for b in chosen):
        return [replace(b, rack=None) for b in chosen]
    return chosen


def refuse_mixed_racks(brokers: Sequence[Broker]) -> None:
    """Raise InconsistentRacks if some of the brokers have a rack and some have none."""
    bare = [b.id for b in brokers if b.rack is None]
    if not bare or len(bare) == len(brokers):
        return
    racked = [b.id for b in brokers if b.rack is not None]
    raise InconsistentRacks(
        f"{_named(racked)} with a rack, {_named(bare)} without",
        hint="give every broker a rack, or switch rack awareness off",
    )


def refuse_twins(brokers: Sequence[Broker]) -> None:
    """Raise DuplicateInRequest if a broker is listed twice: it would hold a partition twice."""
    if len({b.id for b in brokers}) == len(brokers):
        return
    seen: set[BrokerId] = set()
    twin = next(b.id for b in brokers if b.id in seen or seen.add(b.id))
    raise DuplicateInRequest(f"broker {twin} is listed twice", hint="list every broker once")


def rack_order(rack: str) -> bytes:
    """A sort key that orders rack names as Kafka does: by UTF-16 code units.

    That is the order of code points but for signs beyond U+FFFF, which sort before U+E000.
    """
    return rack.encode("utf-16-be", "surrogatepass")


def id_column(ids: Sequence[BrokerId]) -> NDArray[np.int32]:
    """Broker ids as a column; refuses ids that Kafka has no room for."""
    try:
        return np.array(ids, dtype=np.int32)
    except OverflowError:
        odd = next(i for i in ids if not -(2**31) <= i < 2**31)
        raise InvalidReplicaAssignment(
            f"broker id {odd} does not fit in 32 bits", hint="broker ids end at 2147483647"
        ) from None


def _named(ids: Sequence[BrokerId]) -> str:
    shown = ", ".join(str(i) for i in ids[:_NAMED_AT_MOST])
    more = f" and {len(ids) - _NAMED_AT_MOST} more" if len(ids) > _NAMED_AT_MOST else ""
    return f"{'broker' if len(ids) == 1 else 'brokers'} {shown}{more}"
