"""Cost: what each topic and owner pays a day for bytes in, out, copied and stored.

    currency = "EUR"
    [per_gb]                 # 10^9 bytes
    in = 0.010               # produced
    out = 0.020              # consumed
    replication = 0.005      # copied from leaders to followers
    stored_month = 0.08      # held for 30 days, every replica counted

Bytes are integers and rates are decimals. A *cell* is one topic, day and resource; its price is
rounded once, half to even, to a millionth of the currency, and every sum is a sum of cells. So sums
by topic, by owner and by day are equal to the last digit, whichever way they are added.

Stored bytes are byte-seconds: each window of the tables counts with the sizes of all replicas in it
for as long as the window is. Only measured windows are billed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from typing import Any, cast

from kedge.analytics.owners import Owners
from kedge.errors import MalformedInput

RESOURCES = ("in", "out", "replication", "stored")
RATE_KEYS = {"in": "in", "out": "out", "replication": "replication", "stored_month": "stored"}
GB = 10**9
MONTH_S = 30 * 86_400
MICROS = 10**6
RATE_MAX = Decimal(10**9)
RATE_DIGITS = 30
EXACT = Context(prec=100, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices of a gigabyte: in, out, replication, and stored for 30 days."""

    currency: str
    per_gb: Mapping[str, Decimal]

    def micros(self, resource: str, amount: int) -> int:
        """The price of bytes (stored: byte-seconds) in millionths of the currency."""
        unit = GB * MONTH_S if resource == "stored" else GB
        with localcontext(EXACT):
            price = Decimal(amount) * self.per_gb[resource] * MICROS / unit
            return int(price.quantize(Decimal(1)))


@dataclass(frozen=True, slots=True)
class Usage:
    """What one topic used on one day: bytes, and byte-seconds stored by all its replicas."""

    cluster: str
    topic: str
    day: str
    amounts: Mapping[str, int]  # by resource


@dataclass(frozen=True, slots=True)
class Cell:
    """The usage of one topic and day with its owner and its price in millionths."""

    usage: Usage
    owner: str | None
    micros: Mapping[str, int]  # by resource

    @property
    def total(self) -> int:
        """The price of all resources."""
        return sum(self.micros.values())


@dataclass(frozen=True, slots=True)
class Charge:
    """The sum of some cells, by resource; `key` is what they share."""

    key: tuple[str | None, ...]
    amounts: Mapping[str, int]
    micros: Mapping[str, int]

    @property
    def total(self) -> int:
        """The price of all resources."""
        return sum(self.micros.values())


def priced(usages: Iterable[Usage], rates: Rates, owners: Owners) -> list[Cell]:
    """A cell for each usage."""
    cells: list[Cell] = []
    for usage in usages:
        micros = {name: rates.micros(name, usage.amounts[name]) for name in RESOURCES}
        cells.append(Cell(usage, owners.owner_of(usage.topic), micros))
    return cells


def by_owner(cell: Cell) -> tuple[str | None, ...]:
    """The key of charges by owner."""
    return (cell.owner,)


def by_topic(cell: Cell) -> tuple[str | None, ...]:
    """The key of charges by topic: cluster, topic and owner."""
    return (cell.usage.cluster, cell.usage.topic, cell.owner)


def by_day(cell: Cell) -> tuple[str | None, ...]:
    """The key of charges by day."""
    return (cell.usage.day,)


def by_day_and_owner(cell: Cell) -> tuple[str | None, ...]:
    """The key of charges by day and owner."""
    return (cell.usage.day, cell.owner)


def everything(cell: Cell) -> tuple[str | None, ...]:
    """The key of the one charge of all cells."""
    return ()


def charges(cells: Iterable[Cell], key: Callable[[Cell], tuple[str | None, ...]]) -> list[Charge]:
    """The sums of cells with the same key, the dearest first."""
    amounts: dict[tuple[str | None, ...], dict[str, int]] = {}
    micros: dict[tuple[str | None, ...], dict[str, int]] = {}
    for cell in cells:
        name = key(cell)
        _add(amounts.setdefault(name, dict.fromkeys(RESOURCES, 0)), cell.usage.amounts)
        _add(micros.setdefault(name, dict.fromkeys(RESOURCES, 0)), cell.micros)
    found = [Charge(name, amounts[name], micros[name]) for name in amounts]
    return sorted(found, key=lambda one: (-one.total, tuple(part or "" for part in one.key)))


def _add(sums: dict[str, int], more: Mapping[str, int]) -> None:
    for name in RESOURCES:
        sums[name] += more[name]


def parse_rates(document: Mapping[str, Any]) -> Rates:
    """The rates of a TOML document; one sentence about the first fault."""
    unknown = sorted(set(document) - {"currency", "per_gb"})
    if unknown:
        raise MalformedInput("unknown key", place=unknown[0], hint="rates have currency and per_gb")
    currency = document.get("currency", "")
    if not isinstance(currency, str) or len(currency) > 10:
        raise MalformedInput("not a short name", place="currency", hint='write "EUR"')
    table = document.get("per_gb")
    if not isinstance(table, dict) or not table:
        hint = f"write a table [per_gb] with {', '.join(RATE_KEYS)}"
        raise MalformedInput("no rates", place="per_gb", hint=hint)
    found: dict[str, Decimal] = {name: Decimal(0) for name in RESOURCES}
    for key, value in cast("dict[str, object]", table).items():
        if key not in RATE_KEYS:
            hint = f"rates are {', '.join(RATE_KEYS)}"
            raise MalformedInput("unknown key", place=f"per_gb.{key}", hint=hint)
        found[RATE_KEYS[key]] = _rate(value, f"per_gb.{key}")
    return Rates(currency, found)


def _rate(value: object, place: str) -> Decimal:
    hint = "write a price from 0 to 10^9, like 0.02"
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise MalformedInput(f"{value!r} is not a number", place=place, hint=hint)
    rate = Decimal(value)
    if not rate.is_finite() or not 0 <= rate <= RATE_MAX:
        raise MalformedInput(f"a price of {value}", place=place, hint=hint)
    exponent = rate.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -RATE_DIGITS:
        what = f"more than {RATE_DIGITS} digits after the point"
        raise MalformedInput(what, place=place, hint=hint)
    return rate
