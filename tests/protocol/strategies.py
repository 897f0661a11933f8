"""Messages at random, drawn from the same schemas that they are read by."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from kedge.protocol import APIS
from kedge.protocol.messages import ApiMessage

_WHOLE = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
# some that mean something to a server, so that random requests come further than its door
_KNOWN = st.sampled_from(["t", "u", "1", "", "retention.ms", "cleanup.policy", "/data/d0"])
_TEXTS = _KNOWN | st.text(st.characters(codec="utf-8"), max_size=12)


def message_kinds() -> list[tuple[type[ApiMessage], int]]:
    """Every message in every version that is understood."""
    return [
        (message, version)
        for api in APIS.values()
        for message in (api.request, api.response)
        for version in range(api.oldest, api.newest + 1)
    ]


@cache
def messages(message: type[ApiMessage], version: int) -> st.SearchStrategy[Any]:
    """A message of this class and version."""
    schema: Any = message
    return _struct(schema._struct, message, version)


def _struct(field: Any, data_class: Any, version: int) -> st.SearchStrategy[Any]:
    values = {f.name: _value(f, version) for f in field.fields.values() if f.for_version_q(version)}
    return st.fixed_dictionaries(values).map(lambda v: data_class(version=version, **v))


def _value(field: Any, version: int) -> st.SearchStrategy[Any]:
    if field.is_struct_array():
        inner = _struct(field.array_of, field.array_of.data_class, version)
        found = st.lists(inner, max_size=3)
    elif field.is_array():
        found = st.lists(_simple(field.array_of), max_size=3)
    elif field.is_struct():
        found = _struct(field, field.data_class, version)
    else:
        found = _simple(field)
    return st.none() | found if field.nullable_for_version_q(version) else found


def _simple(field: Any) -> st.SearchStrategy[Any]:
    kind = field.type_str.removeprefix("[]")
    if kind in _WHOLE:
        half = 1 << (_WHOLE[kind] - 1)
        return st.integers(-2, 4) | st.integers(-half, half - 1)
    others = {
        "bool": st.booleans(),
        "uuid": st.none() | st.uuids().filter(lambda u: u.int != 0),
        "string": _TEXTS,
        "bytes": st.binary(max_size=12),
        "bitfield": st.none() | st.sets(st.integers(0, 30)),
    }
    return others[kind]
