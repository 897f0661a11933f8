"""What must hold of every placement, whoever made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kedge.model import Broker, BrokerId
from kedge.placement import Placement


def check_laws(
    placement: Placement, brokers: Sequence[Broker], *, leaders_even: bool = True
) -> None:
    """Known brokers only, none twice in a row, racks spread, leaders even."""
    rows = placement.as_mapping()
    known = {b.id for b in brokers}
    for row in rows.values():
        assert set(row) <= known
        assert len(set(row)) == len(row) == placement.replication_factor
    if leaders_even:
        leaders = Counter(row[0] for row in rows.values())
        led = [leaders[b] for b in known]
        assert max(led) - min(led) <= 1
    if all(b.rack is not None for b in brokers):
        check_racks_spread(rows.values(), brokers)


def check_racks_spread(rows: Iterable[tuple[BrokerId, ...]], brokers: Sequence[Broker]) -> None:
    """As many racks per partition as its replicas allow."""
    rack_of = {b.id: b.rack for b in brokers}
    rack_count = len(set(rack_of.values()))
    for row in rows:
        assert len({rack_of[b] for b in row}) == min(len(row), rack_count)
