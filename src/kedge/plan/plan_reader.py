"""Read a plan file: what is malformed is refused with its exact place.

    partitions[3].replicas[1]: should be a whole number in 32 bits, is "4"

The reader is strict where Kafka's is lenient: the text must be one JSON value and nothing else, and
a partition is listed once. Keys that it does not know are left to the future.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TypeVar, cast

import orjson

from kedge.errors import InvalidPlan, MalformedInput, MalformedJson, RefusedCommand
from kedge.model import BrokerId, TopicPartition
from kedge.model.gc_pause import gc_paused
from kedge.plan.json_text import (
    Fields,
    array_field,
    as_array,
    as_object,
    as_text,
    as_whole,
    inside,
    is_whole,
    shown,
    text_field,
    text_list,
    whole_list,
)
from kedge.plan.kafka_json import (
    Reassignment,
    Replicas,
    broker_ids,
    check_version,
    entry,
    topic_partition,
)
from kedge.plan.plan_columns import (
    Names,
    before_at_once,
    partitions_at_once,
    reasons_at_once,
)
from kedge.plan.plan_file import FORMAT, Imbalance, Plan, Summary

Value = TypeVar("Value")

OPENING = b'{"format": "kedge.plan'  # how plans begin that were written here


def is_plan(data: bytes) -> bool:
    """Whether a file means to be a plan, rather than one of Kafka's own reassignment files.

    A file that is no JSON object at all counts as a plan, and a bad one.
    """
    if data.startswith(OPENING):
        return True
    try:
        with gc_paused():
            value: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        return True
    return not isinstance(value, dict) or "format" in value


def read_plan(data: bytes) -> Plan:
    """Read a plan file for inspection: its form is checked, its sense is not."""
    with gc_paused():
        return _plan(data)  # whose document is gone before the collector is back


def _plan(data: bytes) -> Plan:
    try:
        value: object = orjson.loads(data)
    except orjson.JSONDecodeError as fault:
        place = f"line {fault.lineno} column {fault.colno}"
        raise MalformedInput(f"not valid JSON: {fault.msg}", place=place) from None
    fields = as_object(value, "plan")
    check_format(fields)
    check_version(fields)
    names = Names()
    listed = partitions_at_once(fields.get("partitions"), names)
    before = before_at_once(fields.get("before"), names)
    said = reasons_at_once(fields.get("reasons", []), names)
    return Plan(
        partitions=partitions(fields) if listed is None else listed,
        before=by_partition(fields, "before", replicas) if before is None else before,
        reasons=by_partition(fields, "reasons", why) if said is None else said,
        waves=waves(fields),
        summary=summary(fields["summary"]) if fields.get("summary") is not None else None,
        cluster_id=optional_text(fields, "cluster_id"),
        snapshot_sha256=optional_text(fields, "snapshot_sha256"),
        created_at=optional_text(fields, "created_at"),
        goals=optional_object(fields, "goals"),
        certificate=optional_object(fields, "certificate"),
        notes=text_list(fields, "notes", "") if "notes" in fields else (),
    )


def check_format(fields: Fields) -> None:
    """Refuse what is not a plan, or a plan of another time."""
    if "format" not in fields:
        hint = "a reassignment file of Kafka's tool goes to kedge reassign execute"
        raise MalformedJson("format is missing", place="plan", hint=hint)
    if str(fields["format"]).startswith("kedge.snapshot/"):
        hint = "make one with kedge plan --snapshot FILE --out plan.json"
        raise MalformedInput("This is a snapshot; a plan is needed", hint=hint)
    if fields["format"] != FORMAT:
        raise MalformedInput(
            f"{shown(fields['format'])} is not supported", place="format", hint=f'write "{FORMAT}"'
        )


def partitions(fields: Fields) -> tuple[Reassignment, ...]:
    """The part of the file that Kafka's tool would read too."""
    read: dict[TopicPartition, Reassignment] = {}
    for i, item in enumerate(array_field(fields, "partitions", "")):
        place = f"partitions[{i}]"
        try:
            each = entry(item, place)
        except RefusedCommand as refused:
            raise InvalidPlan(refused.what, hint=refused.hint) from None
        refuse_second(each.tp, read, place)
        read[each.tp] = each
    return tuple(read.values())


def by_partition(
    fields: Fields, name: str, read: Callable[[Fields, str], Value]
) -> dict[TopicPartition, Value]:
    """An array of objects that each name a partition, as a mapping in the array's order."""
    found: dict[TopicPartition, Value] = {}
    for i, item in enumerate(array_field(fields, name, "")):
        place = f"{name}[{i}]"
        element = as_object(item, place)
        tp = topic_partition(element, place)
        refuse_second(tp, found, place)
        found[tp] = read(element, place)
    return found


def refuse_second(tp: TopicPartition, seen: Container[TopicPartition], place: str) -> None:
    """A partition that is listed twice has no one meaning."""
    if tp in seen:
        raise InvalidPlan(f"{place}: {tp} is listed more than once")


def replicas(fields: Fields, place: str) -> Replicas:
    """The replicas of an element of `before`."""
    return broker_ids(whole_list(fields, "replicas", place))


def why(fields: Fields, place: str) -> str:
    """The sentence of an element of `reasons`."""
    return text_field(fields, "why", place)


def waves(fields: Fields) -> tuple[tuple[int, ...], ...]:
    """The waves, if the plan has any."""
    if "waves" not in fields:
        return ()
    listed = [
        as_array(each, f"waves[{i}]") for i, each in enumerate(array_field(fields, "waves", ""))
    ]
    return tuple(wave(each, f"waves[{i}]") for i, each in enumerate(listed))


def wave(items: list[object], place: str) -> tuple[int, ...]:
    """One wave; its numbers are looked at one by one only when one of them is odd."""
    if not all(map(is_whole, items)):
        for j, item in enumerate(items):
            as_whole(item, f"{place}[{j}]")
    return cast("tuple[int, ...]", tuple(items))


def summary(value: object) -> Summary:
    """The figures; those of the moves are mandatory."""
    fields = as_object(value, "summary")
    return Summary(
        replicas_moved=count(fields, "replicas_moved"),
        leaders_moved=count(fields, "leaders_moved"),
        bytes_moved=optional_count(fields, "bytes_moved"),
        bytes_moved_lower_bound=optional_count(fields, "bytes_moved_lower_bound"),
        imbalance_before=imbalance(fields, "imbalance_before"),
        imbalance_after=imbalance(fields, "imbalance_after"),
        imbalance_lower_bound=imbalance(fields, "imbalance_lower_bound"),
        eta_seconds=optional_number(fields, "eta_seconds"),
        eta_lower_bound_seconds=optional_number(fields, "eta_lower_bound_seconds"),
        peak_disk=peak_disk(fields),
        planning_seconds=optional_number(fields, "planning_seconds"),
    )


def count(fields: Fields, name: str) -> int:
    """A mandatory count."""
    place = inside("summary", name)
    if name not in fields:
        raise MalformedJson(f"{name} is missing", place="summary")
    value = fields[name]
    if type(value) is int and value >= 0:
        return value
    raise MalformedJson(f"should be a whole number from 0, is {shown(value)}", place=place)


def optional_count(fields: Fields, name: str) -> int | None:
    """A count that may be missing or null."""
    return None if fields.get(name) is None else count(fields, name)


def number(value: object, place: str) -> float:
    """A number from 0."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        return value
    raise MalformedJson(f"should be a number from 0, is {shown(value)}", place=place)


def optional_number(fields: Fields, name: str) -> float | None:
    """A number that may be missing or null."""
    value = fields.get(name)
    return None if value is None else number(value, inside("summary", name))


def imbalance(fields: Fields, name: str) -> Imbalance:
    """Numbers by resource; a missing object is an empty one."""
    place = inside("summary", name)
    by_resource = as_object(fields.get(name, {}), place)
    return {key: number(value, inside(place, key)) for key, value in by_resource.items()}


def peak_disk(fields: Fields) -> dict[BrokerId, float]:
    """Shares by broker; JSON makes texts of the ids."""
    place = inside("summary", "peak_disk")
    by_broker = as_object(fields.get("peak_disk", {}), place)
    return {
        broker_key(key, place): number(value, inside(place, key))
        for key, value in by_broker.items()
    }


def broker_key(text: str, place: str) -> BrokerId:
    """A broker id that is the key of an object."""
    if text.isascii() and text.isdigit():
        return BrokerId(int(text))
    raise MalformedJson(f"{shown(text)} is not a broker id", place=place)


def optional_object(fields: Fields, name: str) -> Fields | None:
    """An object that may be missing or null; what is in it is for others to judge."""
    value = fields.get(name)
    return None if value is None else as_object(value, name)


def optional_text(fields: Fields, name: str) -> str | None:
    """A string that may be missing or null."""
    value = fields.get(name)
    return None if value is None else as_text(value, name)
