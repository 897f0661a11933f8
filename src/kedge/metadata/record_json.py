"""Records as JSON values, in the form that Kafka's tools show.

Fields are in camel case, bytes in base64, and tagged fields appear only where they differ from
their default.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from kedge.metadata.record_schemas import BY_NAME, SCHEMAS, STRUCTS, Field, Kind
from kedge.metadata.records import Versioned

Json = dict[str, Any]


def to_json(versioned: Versioned) -> Json:
    """A record as `{"type", "version", "data"}`."""
    schema = SCHEMAS[type(versioned.record)]
    data = _fields_json(versioned.record, schema.fields_of(versioned.version))
    return {"type": schema.name, "version": versioned.version, "data": data}


def from_json(shown: Mapping[str, Any]) -> Versioned:
    """The record that a JSON value shows."""
    schema, version = BY_NAME[shown["type"]], int(shown["version"])
    values = _values(shown["data"], schema.fields_of(version))
    return Versioned(schema.record(**values), version)


def _fields_json(value: Any, fields: tuple[Field, ...]) -> Json:
    shown: Json = {}
    for field in fields:
        found = getattr(value, field.name)
        if field.tag is None or found != field.default:
            shown[field.json_name] = _json(field, found)
    return shown


def _json(field: Field, value: Any) -> Any:
    if value is None:
        return None
    return [_item_json(field, item) for item in value] if field.many else _item_json(field, value)


def _item_json(field: Field, item: Any) -> Any:
    if field.of is not None:
        return _fields_json(item, STRUCTS[field.of])
    return base64.b64encode(item).decode("ascii") if field.kind is Kind.BYTES else item


def _values(shown: Mapping[str, Any], fields: tuple[Field, ...]) -> dict[str, Any]:
    return {
        field.name: _value(field, shown[field.json_name])
        for field in fields
        if field.json_name in shown
    }


def _value(field: Field, shown: Any) -> Any:
    if shown is None:
        return None
    return tuple(_item(field, item) for item in shown) if field.many else _item(field, shown)


def _item(field: Field, shown: Any) -> Any:
    if field.of is not None:
        return field.of(**_values(shown, STRUCTS[field.of]))
    return base64.b64decode(shown) if field.kind is Kind.BYTES else shown
