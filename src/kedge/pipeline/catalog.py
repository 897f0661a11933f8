"""Registers the tables by name in a catalog of Spark: the work of `kedge pipeline register`.

The catalog is the one that Spark is configured with: a Hive metastore, or any other whose settings
are in `spark-defaults.conf`. A table keeps its files where they are; the catalog has its name, its
columns and its place. Delta's library for Spark creates the entries, so its jars are needed here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kedge.errors import InvalidRequest
from kedge.pipeline.jobs.context import SessionFactory
from kedge.pipeline.sinks import translate_spark_errors
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.runs import RUNS
from kedge.pipeline.warehouse import Place, published_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATABASE: Final = re.compile(r"[A-Za-z_]\w{0,127}(\.[A-Za-z_]\w{0,127})?")
SETTINGS: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalogImplementation": "hive",
}
JAVA_OPTIONS: Final = ("-Dderby.stream.error.file=/dev/null",)  # not in the working directory
NO_DELTA: Final = ("io.delta.sql", "DeltaCatalog", "DATA_SOURCE_NOT_FOUND")


@dataclass(frozen=True, slots=True)
class Registration:
    """The tables that were registered now, and those that were there before."""

    database: str
    added: tuple[str, ...]
    known: tuple[str, ...]


def register(tables: Place, database: str, session: SessionFactory) -> Registration:
    """Register every table of the last run; `gold/findings` becomes `gold_findings`.

    A name that the catalog has for another place is refused, before anything is registered.
    """
    if DATABASE.fullmatch(database) is None:
        hint = "letters, digits and underscores, as in kedge or catalog.kedge"
        raise InvalidRequest(f"a database named {database!r}", hint=hint)
    location, run = Location.of(tables), published_run(tables)
    places = {
        name.replace("/", "_"): _uri(location.child(name)) for name in (*sorted(run.versions), RUNS)
    }
    with session() as spark, translate_spark_errors():
        _check_delta(spark)
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {_quoted(database)}")
        there = {name for name in places if spark.catalog.tableExists(f"{database}.{name}")}
        for name in sorted(there):
            _check_same_place(spark, f"{database}.{name}", places[name])
        added = sorted(places.keys() - there)
        for name in added:
            table, place = _quoted(f"{database}.{name}"), places[name].replace("'", "\\'")
            spark.sql(f"CREATE TABLE {table} USING delta LOCATION '{place}'")
    return Registration(database, tuple(added), tuple(sorted(there)))


def _check_delta(spark: SparkSession) -> None:
    if spark.conf.get("spark.sql.extensions", "") and _has_delta(spark):
        return
    hint = "name the jars of delta-spark with --jars, or in spark-defaults.conf"
    raise InvalidRequest("the Spark session has no Delta library", hint=hint)


def _has_delta(spark: SparkSession) -> bool:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        spark.sql("DESCRIBE DETAIL delta.`/kedge-does-not-exist`")
    except (PySparkException, Py4JJavaError) as error:
        return not any(part in str(error) for part in (*NO_DELTA, "PARSE_SYNTAX_ERROR"))
    return True


def _check_same_place(spark: SparkSession, table: str, place: str) -> None:
    row = spark.sql(f"DESCRIBE DETAIL {_quoted(table)}").select("location").first()
    found = "" if row is None else str(row[0])
    if _plain(found) != _plain(place):
        hint = "use another --database, or drop the table"
        raise InvalidRequest(f"{table} is registered for {found}", hint=hint)


def _uri(place: str) -> str:
    return f"file://{place}" if place.startswith("/") else place


def _plain(place: str) -> str:
    """A place in one spelling: `file:/x` and `file:///x` are the same."""
    return re.sub(r"^file:/+", "/", place).rstrip("/")


def _quoted(name: str) -> str:
    return ".".join(f"`{part}`" for part in name.split("."))
