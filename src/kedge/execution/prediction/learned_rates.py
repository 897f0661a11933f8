"""Rates of links and disks that runs have measured, and the spread that a prediction draws from.

A file of records, one line each, belongs to a cluster. A run appends what the fastest broker
reached while no throttle held it back (`kedge.execution.rate_meter`):

    {"at":1763362800.0,"network":412000000.0,"disk":187000000.0}

From `ENOUGH` records on, the medians replace the assumed rates and draws come from the records.
With fewer, links and disks are taken to deliver between half and twice the assumed rate, most
likely that rate (a triangle). Throttles and the delays of brokers are drawn from triangles too,
whatever was measured. What came over a link was written to a disk: where disks were not measured
themselves, they carry at least what links do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import median
from typing import Any, NamedTuple, cast

import orjson

from kedge.errors import MalformedInput
from kedge.execution.prediction.environment import Rates
from kedge.execution.prediction.predict import RateFactors

ENOUGH = 5
HARDWARE = (0.5, 1.0, 2.0)  # of the assumed rate: least, most likely, most
# Of what throttles usually deliver. Busy brokers deliver less. Kafka counts over ten seconds: one
# that had nothing to copy for a while makes up for it, but none exceeds its throttle over a run.
THROTTLE = (0.75, 1.0, 1.2)
MOVES = (0.3, 1.0, 3.0)  # of the delays at the beginning and the end of a move
DELAYS = (0.5, 1.0, 4.0)  # of those assumed; a busy broker takes seconds to confirm a throttle

Triangle = tuple[float, float, float]


class Draw(NamedTuple):
    """Numbers between 0 and 1: for links, disks, throttles, delays of runs and of moves."""

    network: float = 0.5
    disk: float = 0.5
    throttle: float = 0.5
    delays: float = 0.5
    moves: float = 0.5


@dataclass(frozen=True, slots=True)
class RateRecord:
    """Bytes per second that one run has reached; None where something else was the limit."""

    at: float
    network: float | None = None
    disk: float | None = None


def rate_line(record: RateRecord) -> bytes:
    """The line of a record."""
    fields = {"at": record.at, "network": record.network, "disk": record.disk}
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


def read_rates(data: bytes) -> list[RateRecord]:
    """The records of a file; a last line that was cut short is left out."""
    *whole, _cut_short = data.split(b"\n")
    found: list[RateRecord] = []
    for number, line in enumerate(whole, start=1):
        try:
            fields: dict[str, Any] = orjson.loads(line)
            network, disk = _rate(fields.get("network")), _rate(fields.get("disk"))
            found.append(RateRecord(float(fields["at"]), network, disk))
        except (ValueError, TypeError, KeyError, AttributeError) as fault:
            raise MalformedInput(
                f"line {number} is no record of rates", hint="delete the line, or the file"
            ) from fault
    return found


def _rate(value: object) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1e18:
        raise TypeError("not a rate")
    return float(value)


def learned_rates(records: Sequence[RateRecord], assumed: Rates) -> Rates:
    """The medians of what was measured often enough, and the assumed rate otherwise."""
    network, disk = _measured(records, "network"), _measured(records, "disk")
    over_links = median(network) if len(network) >= ENOUGH else None
    return Rates(
        assumed.network if over_links is None else over_links,
        median(disk) if len(disk) >= ENOUGH else max(assumed.disk, over_links or 0.0),
    )


def drawn_factors(draws: Sequence[Draw], records: Sequence[RateRecord] = ()) -> list[RateFactors]:
    """What links and disks deliver in each sample, relative to the rates of the prediction."""
    network, disk = _measured(records, "network"), _measured(records, "disk")
    # disks that are known by what links brought vary as those do
    alike = len(disk) < ENOUGH <= len(network)
    return [
        RateFactors(
            _factor(draw.network, network),
            _factor(draw.network, network) if alike else _factor(draw.disk, disk),
            _in_triangle(draw.throttle, THROTTLE),
            _in_triangle(draw.delays, DELAYS),
            _in_triangle(draw.moves, MOVES),
        )
        for draw in draws
    ]


def _measured(records: Sequence[RateRecord], what: str) -> list[float]:
    values = [cast("float | None", getattr(record, what)) for record in records]
    return sorted(value for value in values if value is not None)


def _factor(draw: float, measured: Sequence[float]) -> float:
    if len(measured) >= ENOUGH:
        return measured[int(draw * len(measured))] / median(measured)
    return _in_triangle(draw, HARDWARE)


def _in_triangle(draw: float, triangle: Triangle) -> float:
    """The value that such a share of all draws is below."""
    least, likely, most = triangle
    if draw < (likely - least) / (most - least):
        return least + sqrt(draw * (most - least) * (likely - least))
    return most - sqrt((1 - draw) * (most - least) * (most - likely))
