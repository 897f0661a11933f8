"""The one maker of Spark sessions.

Every setting that a job relies on is here: times are UTC, Parquet keeps microseconds, workers run
the driver's own Python, nothing listens beyond the loopback unless asked to. What the JVM has to
say goes to a file of its own and is read only when a session does not come up.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.errors import InvalidRequest, SparkUnavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK = "127.0.0.1"
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
JARS_OF_A_CHECKOUT = Path(__file__).parents[3] / ".cache" / "jars" / "spark-4.2.0"


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Where and how to run; the defaults are this machine's two cores.

    `master` is any master URL, or `sc://…` for a Spark Connect server. `jars` are for the driver
    and every worker; `kafka` adds the connector's, where they were resolved beside the sources.
    """

    master: str = "local[2]"
    driver_memory: str = "2g"
    driver_host: str = LOOPBACK
    partitions: int = 8
    jars: tuple[Path, ...] = ()
    kafka: bool = False
    java_options: tuple[str, ...] | None = None  # None: the collector that suits batches best
    more: Mapping[str, str] = field(default_factory=dict[str, str])


@contextmanager
def spark_session(settings: SessionSettings | None = None) -> Generator[SparkSession]:
    """A session for the time of a `with` block."""
    session = make_session(settings or SessionSettings())
    try:
        yield session
    finally:
        session.stop()


def make_session(settings: SessionSettings) -> SparkSession:
    """A new session; the caller stops it."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        hint = "install it with kedge's extra `spark`"
        raise SparkUnavailable("pyspark is not installed", hint=hint) from error
    # Without it workers take whatever python3 comes first on the path.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName("kedge")
    for name, value in _configuration(settings).items():
        builder = builder.config(name, value)
    if settings.master.startswith("sc://"):
        return _started(builder.remote(settings.master), settings)
    _check_java()
    return _started(builder.master(settings.master), settings)


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    if shutil.which(java) is None:
        where = f"JAVA_HOME ({home})" if home else "the path"
        hint = "install Java 17 or later, or set JAVA_HOME"
        raise SparkUnavailable(f"Spark needs Java, and there is none in {where}", hint=hint)


def _started(builder: SparkSession.Builder, settings: SessionSettings) -> SparkSession:
    with tempfile.NamedTemporaryFile("w+b", prefix="kedge-spark-", suffix=".log") as log:
        try:
            with _stderr_into(log.fileno()):
                return builder.getOrCreate()
        except Exception as error:
            log.seek(0)
            said = _reason(log.read().decode(errors="replace"), error)
            raise SparkUnavailable(f"no Spark session on {settings.master}: {said}") from error


@contextmanager
def _stderr_into(descriptor: int) -> Generator[None]:
    """The JVM inherits our stderr when it is started, and keeps it: it gets the file's instead."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _reason(log: str, error: Exception) -> str:
    """The line of the log that says why, or else what Python saw of it."""
    lines = [line.strip() for line in log.splitlines()]
    causes = [line for line in lines if "Exception" in line or line.startswith("Error")]
    return (causes or [str(error).strip() or type(error).__name__])[-1].splitlines()[0][:300]


def _configuration(settings: SessionSettings) -> dict[str, str]:
    if settings.master.startswith("sc://"):
        return {"spark.sql.session.timeZone": "UTC", **settings.more}
    chosen = _collector() if settings.java_options is None else settings.java_options
    options = (f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}", *chosen)
    made = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": settings.driver_host,
        "spark.driver.bindAddress": settings.driver_host,
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": str(settings.partitions),
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.hadoop.parquet.compression.codec.zstd.level": "1",
        # It would tell tries of a task apart that gave different rows: reading files never does.
        "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
        "spark.sql.legacy.parquet.nanosAsLong": "true",
        # A frame that is written by verdict or by day goes to few files at once: no sort for that.
        "spark.sql.maxConcurrentOutputFileWriters": "16",
        # Packed samples are ten times their size in memory, and few large tasks leave cores idle.
        "spark.sql.files.maxPartitionBytes": "32m",
        # Groups here are many: a small table before the large one only adds a look-up to each row.
        "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
        # Lists of a whole course per group: sorting all rows instead costs more than the lists.
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "50000",
        # Pruned columns would hide from the CSV reader that a line has too few of them.
        "spark.sql.csv.parser.columnPruning.enabled": "false",
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    }
    jars = [*settings.jars, *(connector_jars() if settings.kafka else ())]
    if jars:
        made["spark.jars"] = ",".join(str(jar) for jar in jars)
    return {**made, **settings.more}


def _collector() -> tuple[str, ...]:
    """None where the environment has named one: two would keep Java from starting."""
    named = any("GC" in os.environ.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"))
    return () if named else ("-XX:+UseParallelGC",)


def connector_jars() -> tuple[Path, ...]:
    """The jars of Spark's Kafka connector, as resolved beside a checkout; none elsewhere."""
    return tuple(sorted(JARS_OF_A_CHECKOUT.glob("*.jar")))


def jars_from(text: str) -> tuple[Path, ...]:
    """The jars of `--jars a.jar,b.jar`; each must be there."""
    jars = tuple(Path(part) for part in text.split(",") if part)
    for jar in jars:
        if not jar.is_file():
            raise InvalidRequest(f"{jar}: there is no such jar")
    return jars


__all__ = [
    "SessionSettings",
    "connector_jars",
    "jars_from",
    "make_session",
    "spark_session",
]
