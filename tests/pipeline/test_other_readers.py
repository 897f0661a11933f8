"""Delta's own library for Spark reads the tables: by place, by version, by name in a catalog."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jvm import resolve
from kedge.pipeline.catalog import SETTINGS
from kedge.pipeline.table_reader import Tables
from tests.pipeline.file_systems import Place
from tests.pipeline.numbered_runs import NAMES, after, contents, publish
from tests.pipeline.streaming import quick_spark

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(1800)]

# the jars that Spark does not have already
DELTA_JARS = ("delta-", "RoaringBitmap", "shims", "unitycatalog")
ASK = """
import json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
print(json.dumps([[list(row) for row in spark.sql(text).collect()] for text in sys.argv[1:]]))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Spark with Delta's library and a Hive metastore of its own."""
    directory = tmp_path_factory.mktemp("delta-spark")
    jars = [str(jar) for jar in resolve("delta-4.4.0").glob("*.jar")]
    chosen = [jar for jar in jars if Path(jar).name.startswith(DELTA_JARS)]
    derby = f"jdbc:derby:;databaseName={directory}/metastore;create=true"
    settings = {
        **SETTINGS,
        "spark.jars": ",".join(chosen),
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": f"{directory}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": derby,
    }
    return quick_spark(directory, settings)


def ask(environment: Mapping[str, str], *queries: str) -> list[Any]:
    """The answers of Spark SQL to queries."""
    command = [sys.executable, "-c", ASK, *queries]
    done = subprocess.run(
        command,
        env=dict(environment),
        cwd=environment["SPARK_CONF_DIR"],  # where Derby writes its log
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_delta_spark_sees_the_rows_of_each_run(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    for value in (1, 2, 3):
        publish(tmp_path, value)
    pinned = [(run, name) for run in ("1", "2", "3") for name in NAMES]
    queries = [
        f"select value from delta.`{tmp_path / name}`"
        f" version as of {Tables(tmp_path, run).run.versions[name]} order by value"
        for run, name in pinned
    ]
    found = dict(zip(pinned, ask(environment, *queries), strict=True))
    for number, run in enumerate(("1", "2", "3"), start=1):
        read = {name: [row[0] for row in found[run, name]] for name in NAMES}
        assert read == contents(tmp_path, run) == after(*range(1, number + 1))


def test_tables_are_registered_by_name_in_a_hive_metastore(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    place, tables = Place(str(tmp_path), environment), tmp_path / "tables"
    publish(tables, 1)
    options = ("--tables", str(tables), "--database", "kedge", "--output", "json")
    done = json.loads(place.done("pipeline", "register", *options))
    assert {"silver", "gold_findings", "runs"} <= set(done["added"])
    counts = [
        f"select count(*) from kedge.{name.replace('/', '_')}"
        for name in Tables(tables).run.versions
    ]
    expected = [Tables(tables).read(name).num_rows for name in Tables(tables).run.versions]
    assert [answer[0][0] for answer in ask(environment, *counts)] == expected
    again = json.loads(place.done("pipeline", "register", *options))
    assert (again["added"], len(again["known"])) == ([], len(done["added"]))
    publish(tables, 2)
    assert ask(environment, "select value from kedge.silver order by value") == [
        [[value] for value in contents(tables, "2")["silver"]]
    ]
    publish(tmp_path / "others", 1)
    others = ("--tables", str(tmp_path / "others"), "--database", "kedge")
    refused = place.run("pipeline", "register", *others)
    assert refused.returncode == 2
    assert "kedge.gold_findings is registered for" in refused.stderr


def test_registration_without_the_library_is_refused(tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    publish(tables, 1)
    place = Place(str(tmp_path), quick_spark(tmp_path))
    refused = place.run("pipeline", "register", "--tables", str(tables))
    assert refused.returncode == 2
    assert "the Spark session has no Delta library" in refused.stderr
    named = place.run("pipeline", "register", "--tables", str(tables), "--database", "a b")
    assert named.returncode == 2
