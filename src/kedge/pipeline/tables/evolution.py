"""How the columns of a table change: new ones are added, all others keep their type.

Files that were written before have null in a new column. A column that is no longer written stays,
and has null in new files. Another type would make the files of earlier runs unreadable: that is a
new format of the directory, with a migration.
"""

from __future__ import annotations

from typing import Any, Final, cast

import orjson

from kedge.errors import InvalidRequest

# Whether values may be missing is not part of a type: every column may have null.
NULLABILITY: Final = ("nullable", "containsNull", "valueContainsNull", "metadata")


def add_columns(opened: Any, place: str, schema: Any, properties: Any) -> None:
    """Add the columns of a schema that an open table does not have; refuse other types."""
    known = {field.name: field.type for field in opened.schema().fields}
    for field in schema.fields:
        if field.name in known and _kind(field.type) != _kind(known[field.name]):
            what = f"{place}: column {field.name} has another type than in the table"
            raise InvalidRequest(what, hint="use new --tables")
    new = [field for field in schema.fields if field.name not in known]
    if new:
        opened.alter.add_columns(new, commit_properties=properties)
        opened.update_incremental()


def _kind(type_: Any) -> Any:
    return _without_nullability(orjson.loads(type_.to_json()))


def _without_nullability(described: Any) -> Any:
    if isinstance(described, list):
        return [_without_nullability(one) for one in cast(list[Any], described)]
    if not isinstance(described, dict):
        return described
    parts = cast(dict[str, Any], described).items()
    return {name: _without_nullability(one) for name, one in parts if name not in NULLABILITY}
