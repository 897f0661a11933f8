"""History of a cluster: load over time, days until disks are full, brokers needed, cost."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel

from kedge.analytics.capacity import CapacityQuestion, capacity_answer
from kedge.analytics.cost import priced
from kedge.analytics.owners import Owners
from kedge.errors import InvalidRequest, UnknownBroker
from kedge.report.capacity import capacity_row
from kedge.report.cost import money
from kedge.watch.history import (
    broker_columns,
    broker_series,
    has_rates,
    resource_by_broker,
    totals,
    usage_by_day,
)
from kedge.watch.policy import DAY_S
from kedge.watch.samples import Sample
from kedge.web.api.requests import ClusterName, Reader, ServicesOf, answer
from kedge.web.services import Services

router = APIRouter(prefix="/api/v1/clusters/{cluster}", tags=["history"])

WEEK_S = 7 * DAY_S
FORECAST_S = 30 * DAY_S  # of history
POINTS = 720

Since = Annotated[
    float | None, Query(ge=0, le=1e11, description="Seconds since 1970; a week before `until`")
]
Until = Annotated[float | None, Query(ge=0, le=1e11, description="Seconds since 1970; now")]
Points = Annotated[int, Query(ge=2, le=2000, description="At most so many, evenly spread")]
Column = list[float | int | None]


class BrokerResource(StrEnum):
    """What is listed for each broker."""

    DISK = "disk"
    REPLICAS = "replicas"
    LEADERS = "leaders"
    BYTES_IN = "bytes_in"
    BYTES_OUT = "bytes_out"
    ROUND_TRIP_MS = "round_trip_ms"


class ColumnOfBroker(BaseModel):
    """One broker's values, beside the times; null where it was not there."""

    broker: int
    values: Column


class HistoryOfCluster(BaseModel):
    """Sums and counts of the whole cluster as columns, and one resource of each broker."""

    times: list[float]
    totals: dict[str, Column]
    resource: BrokerResource
    brokers: list[ColumnOfBroker]
    has_rates: bool


class HistoryOfBroker(BaseModel):
    """Everything of one broker as columns, beside the times."""

    broker: int
    times: list[float]
    columns: dict[str, Column]


class DaysUntil(BaseModel):
    """Days from the last sample; null is not within five years."""

    expected: float | None
    soonest: float | None
    latest: float | None


class BrokerForecast(BaseModel):
    """When one broker's disk is full, and when it has less than the headroom free."""

    broker: int
    disk_capacity: float | None
    used: float
    growth_per_day: float
    full: DaysUntil | None
    headroom: DaysUntil | None


class CapacityShown(BaseModel):
    """Forecasts from the history of the loop; `known` is false until there is enough of it."""

    known: bool
    why: str
    as_of: str | None = None
    by: str | None = None
    headroom: float | None = None
    history_days: float | None = None
    brokers_now: int | None = None
    brokers: list[BrokerForecast] = []
    resources: list[dict[str, Any]] = []


class CostOfDay(BaseModel):
    """What storing all replicas cost on one day."""

    day: str
    byte_seconds_stored: int
    cost: str


class CostShown(BaseModel):
    """Costs by day; `known` is false without prices in the settings or without history."""

    known: bool
    why: str
    currency: str = ""
    days: list[CostOfDay] = []
    total: str | None = None


@router.get("/history", response_model=HistoryOfCluster)
def show_history(
    cluster: ClusterName,
    _: Reader,
    services: ServicesOf,
    since: Since = None,
    until: Until = None,
    points: Points = 500,
    resource: BrokerResource = BrokerResource.DISK,
) -> Response:
    """Loads over time: the whole cluster, and one resource of each broker."""
    history = _samples(services, cluster, since, until, points)
    by_broker = resource_by_broker(history, resource.value)
    return answer(
        {
            "times": [each.at for each in history],
            "totals": totals(history),
            "resource": resource.value,
            "brokers": [{"broker": b, "values": values} for b, values in by_broker.items()],
            "has_rates": has_rates(history),
        }
    )


@router.get("/brokers/{broker}/history", response_model=HistoryOfBroker)
def show_broker_history(
    cluster: ClusterName,
    broker: Annotated[int, Path(ge=0, le=2**31 - 1)],
    _: Reader,
    services: ServicesOf,
    since: Since = None,
    until: Until = None,
    points: Points = 500,
) -> Response:
    """Everything that the loop has sampled of one broker."""
    history = _samples(services, cluster, since, until, points)
    if history and all(each.broker(broker) is None for each in history):
        raise UnknownBroker(f"The history of {cluster} has no broker {broker}")
    times = [each.at for each in history]
    columns = broker_columns(history, broker)
    return answer({"broker": broker, "times": times, "columns": columns})


@router.get("/capacity", response_model=CapacityShown)
def show_capacity(
    cluster: ClusterName,
    _: Reader,
    services: ServicesOf,
    days: Annotated[float, Query(ge=1, le=1825, description="Brokers needed in so many days")] = 90,
    headroom: Annotated[float, Query(ge=0, lt=1, description="The share to keep free")] = 0.2,
    add: Annotated[int, Query(ge=0, le=10_000, description="What if so many were added")] = 0,
) -> Response:
    """Days until disks are full, and how many brokers a date needs, by the trend of the history."""
    now = services.database.clock()
    history = services.loops.records[cluster].samples(now - FORECAST_S, now, POINTS)
    question = CapacityQuestion(now + days * DAY_S, headroom, add=add)
    found = capacity_answer(broker_series(history), question)
    if found is None:
        return answer({"known": False, "why": "The loop has too few samples for a trend"})
    row = capacity_row(cluster, found, question)
    known = [each for each in row["resources"] if each["resource"] == "disk" or has_rates(history)]
    return answer({**row, "resources": known, "known": True})


@router.get("/cost", response_model=CostShown)
def show_cost(cluster: ClusterName, _: Reader, services: ServicesOf) -> Response:
    """What storing all replicas cost on each of the last 30 days, by the prices of the settings."""
    rates = services.settings.cost
    if rates is None:
        return answer({"known": False, "why": "The settings have no prices: write [cost.per_gb]"})
    now = services.database.clock()
    history = services.loops.records[cluster].samples(now - FORECAST_S, now, POINTS)
    cells = priced(usage_by_day(history, cluster), rates, Owners())
    days = [
        {
            "day": cell.usage.day,
            "byte_seconds_stored": cell.usage.amounts["stored"],
            "cost": money(cell.total),
        }
        for cell in cells
    ]
    why = "Bytes stored by all replicas, in the time that the loop has measured"
    total = money(sum(cell.total for cell in cells))
    document = {"known": bool(days), "why": why, "currency": rates.currency}
    return answer({**document, "days": days, "total": total})


def _samples(
    services: Services, cluster: str, since: float | None, until: float | None, points: int
) -> list[Sample]:
    end = services.database.clock() if until is None else until
    begin = end - WEEK_S if since is None else since
    if begin > end:
        raise InvalidRequest("The time begins after its end", hint="since is before until")
    return services.loops.records[cluster].samples(begin, end, points)
