"""Requests to a run that another process carries out: another rate, a pause, its end.

A request is a line of JSON with an id. The process that carries the run out reads the lines at each
poll; its journal has which requests were carried out, so that a run which is resumed carries none
out twice and carries out what was sent while it was down.

    {"id":"9f3c","at":1e9,"kind":"rate","rate":80000000,"log_dir_rate":null,"adaptive":null}
    {"id":"a017","at":1e9,"kind":"pause"}
    {"id":"b4d2","at":1e9,"kind":"leave"}

A line that was cut short, or that this version does not know, is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from kedge.execution import json_fields as fields
from kedge.execution.steering import RateRange, range_from


class RequestKind(StrEnum):
    """What is requested of a run."""

    RATE = "rate"
    PAUSE = "pause"
    CONTINUE = "continue"
    LEAVE = "leave"  # to the process at work: another one goes on with the run


@dataclass(frozen=True, slots=True)
class Request:
    """One request; a rate that is None stays as it is."""

    id: str
    at: float
    kind: RequestKind
    rate: int | None = None
    log_dir_rate: int | None = None
    adaptive: RateRange | None = None

    def to_json(self) -> dict[str, Any]:
        """As an object of a line."""
        return {
            "id": self.id,
            "at": self.at,
            "kind": self.kind.value,
            "rate": self.rate,
            "log_dir_rate": self.log_dir_rate,
            "adaptive": self.adaptive and list(self.adaptive),
        }


@dataclass(frozen=True, slots=True)
class Reply:
    """How a request was carried out: the brokers that did not confirm it, or why it was refused."""

    unconfirmed: tuple[str, ...] = ()
    refused: str = ""


def request_line(request: Request) -> bytes:
    """The request as a line."""
    return orjson.dumps(request.to_json(), option=orjson.OPT_APPEND_NEWLINE)


def request_from(value: Mapping[str, Any]) -> Request:
    """A request from its object; raises ValueError, TypeError or KeyError."""
    return Request(
        fields.text(value["id"]),
        fields.seconds(value["at"]),
        RequestKind(value["kind"]),
        fields.whole_or_none(value.get("rate")) or None,
        fields.whole_or_none(value.get("log_dir_rate")) or None,
        range_from(value.get("adaptive")),
    )


def read_requests(lines: Iterable[bytes]) -> list[Request]:
    """The requests in their order, each id once."""
    found: dict[str, Request] = {}
    for line in lines:
        try:
            request = request_from(fields.object_of(line))
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
        found.setdefault(request.id, request)
    return list(found.values())
