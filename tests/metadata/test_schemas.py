"""The table of records beside Kafka's own message definitions, which are in its jars."""

from __future__ import annotations

import json
import re
import zipfile
from typing import Any

import pytest

from jvm import KAFKA_4_1, ROOT
from kedge.metadata.record_schemas import BY_TYPE_ID, SCHEMAS, STRUCTS, Field, Kind

JAR = ROOT / ".cache" / "jars" / KAFKA_4_1 / "kafka-metadata-4.1.0.jar"


def definitions() -> dict[int, Any]:
    found: dict[int, Any] = {}
    with zipfile.ZipFile(JAR) as jar:
        for name in jar.namelist():
            if name.startswith("common/metadata/") and name.endswith(".json"):
                text = re.sub(r"(?m)^\s*//.*$|\s//.*$", "", jar.read(name).decode())
                shown = json.loads(text)
                found[shown["apiKey"]] = shown
    return found


def described(shown: dict[str, Any]) -> tuple[Any, ...]:
    """A field as Kafka defines it."""
    kind = shown["type"].removeprefix("[]")
    return (
        shown["name"][0].lower() + shown["name"][1:],
        "struct" if "fields" in shown else kind,
        int(shown["versions"].removesuffix("+")),
        shown.get("tag"),
        shown["type"].startswith("[]"),
        "nullableVersions" in shown,
    )


def ours(field: Field) -> tuple[Any, ...]:
    return (field.json_name, field.kind.value, field.since, field.tag, field.many, field.nullable)


@pytest.mark.real
def test_every_record_has_the_fields_of_kafkas_definition() -> None:
    kafkas = definitions()
    assert kafkas.keys() == BY_TYPE_ID.keys()
    for type_id, shown in kafkas.items():
        schema = BY_TYPE_ID[type_id]
        assert schema.record.__name__ == shown["name"]
        assert str(schema.newest) == shown["validVersions"].rpartition("-")[2]
        # tagged fields come in the sequence of their tags on the wire
        expected = sorted(map(described, shown["fields"]), key=lambda f: str(f))
        assert sorted(map(ours, schema.fields), key=lambda f: str(f)) == expected, shown["name"]
        for field in shown["fields"]:
            if "fields" in field:
                of = next(f.of for f in schema.fields if f.json_name == described(field)[0])
                assert of is not None
                assert list(map(ours, STRUCTS[of])) == list(map(described, field["fields"]))


def test_every_field_of_a_schema_is_a_field_of_its_record() -> None:
    for record, schema in SCHEMAS.items():
        assert {field.name for field in schema.fields} == set(record.__dataclass_fields__)
        for field in schema.fields:
            assert (field.kind is Kind.STRUCT) == (field.of is not None)
