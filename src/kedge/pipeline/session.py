"""Creates Spark sessions with all settings that the jobs rely on.

Times are UTC, Parquet timestamps have microseconds, workers run the driver's Python, and the driver
listens on the loopback interface unless configured otherwise. The stderr of the JVM goes to a
temporary file that is read only if the session does not start.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.errors import InvalidRequest, SparkUnavailable
from kedge.pipeline.class_archive import class_archive
from kedge.pipeline.tables.store_options import spark_file_systems

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK = "127.0.0.1"
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
SMALL_JOB_ROWS = 500_000
LOCAL_ROWS_MAX = 6_000_000  # that one process merges and models in less time than Spark
ROWS_PER_PARTITION = 1_000_000  # of a shuffle: the time series of a task's groups are in memory
PARTITIONS_MAX = 400
LARGE_JOB = {"spark.sql.adaptive.advisoryPartitionSizeInBytes": "8m"}  # they are not joined again
SMALL_JOB = {"spark.sql.adaptive.enabled": "false"}
# Parquet has checksums of its own. Object stores buffer what they write on the local disk, by the
# class that this one replaces.
NO_CHECKSUM_FILES = {"spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem"}
CHECKOUT_JARS = Path(__file__).parents[3] / ".cache" / "jars" / "spark-4.2.0"


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Master URL, sizes and jars of a session; by default two local cores.

    `master` is any master URL, or `sc://…` for a Spark Connect server. `jars` go to the driver and
    every executor; `kafka` adds the jars of the Kafka connector, if `make jars` has fetched them.
    `writes_locally` if all that the job writes is on disks of the machines, or mounted there.
    """

    master: str = "local[2]"
    driver_memory: str = "2g"
    driver_host: str = LOOPBACK
    partitions: int = 8
    jars: tuple[Path, ...] = ()
    kafka: bool = False
    writes_locally: bool = True
    java_options: tuple[str, ...] | None = None  # None: the garbage collector for batch jobs
    more: Mapping[str, str] = field(default_factory=dict[str, str])

    def for_rows(self, rows: int) -> SessionSettings:
        """The settings of a job that processes about this many rows.

        For few rows the optimising compiler of the JVM (C2) takes more CPU time than it saves, as
        do threads of the garbage collector, and adaptive execution: two shuffle partitions
        suffice. For many, more tasks keep the memory of each as it is.
        """
        needed = min(rows // ROWS_PER_PARTITION, PARTITIONS_MAX)
        if needed > self.partitions:
            return replace(self, partitions=needed, more={**LARGE_JOB, **self.more})
        if rows > SMALL_JOB_ROWS or self.java_options is not None:
            return self
        options = (*_gc_options("-XX:+UseSerialGC"), "-XX:TieredStopAtLevel=1", *_archive(self))
        return replace(self, partitions=2, java_options=options, more={**SMALL_JOB, **self.more})


@contextmanager
def spark_session(settings: SessionSettings | None = None) -> Generator[SparkSession]:
    """A session for the duration of a `with` block."""
    session = create_session(settings or SessionSettings())
    try:
        yield session
    except ConnectionError as error:
        what = "the process of Spark's driver has ended"
        hint = "is there enough memory? run the command again"
        raise SparkUnavailable(what, hint=hint) from error
    finally:
        with suppress(ConnectionError):
            session.stop()


def create_session(settings: SessionSettings) -> SparkSession:
    """Create a session; the caller stops it."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        hint = "install it with kedge's extra `spark`"
        raise SparkUnavailable("pyspark is not installed", hint=hint) from error
    # Without it workers run the first python3 on the PATH.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName("kedge")
    for name, value in _configuration(settings).items():
        builder = builder.config(name, value)
    if settings.master.startswith("sc://"):
        return _get_or_create(builder.remote(settings.master), settings)
    _check_java()
    return _get_or_create(builder.master(settings.master), settings)


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    if shutil.which(java) is None:
        where = f"JAVA_HOME ({home})" if home else "the PATH"
        hint = "install Java 17 or later, or set JAVA_HOME"
        raise SparkUnavailable(f"Spark needs Java, which is not in {where}", hint=hint)


def _get_or_create(builder: SparkSession.Builder, settings: SessionSettings) -> SparkSession:
    with tempfile.NamedTemporaryFile("w+b", prefix="kedge-spark-", suffix=".log") as log:
        try:
            with _redirect_stderr(log.fileno()):
                return builder.getOrCreate()
        except Exception as error:
            log.seek(0)
            reason = _failure_reason(log.read().decode(errors="replace"), error)
            raise SparkUnavailable(f"no Spark session on {settings.master}: {reason}") from error


@contextmanager
def _redirect_stderr(descriptor: int) -> Generator[None]:
    """Redirect stderr while the JVM starts: it inherits the descriptor and keeps it."""
    sys.stderr.flush()
    saved = os.dup(2)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def _failure_reason(log: str, error: Exception) -> str:
    """The last line of the log that names an exception, or else the message of the error."""
    lines = [line.strip() for line in log.splitlines()]
    causes = [line for line in lines if "Exception" in line or line.startswith("Error")]
    return (causes or [str(error).strip() or type(error).__name__])[-1].splitlines()[0][:300]


def _configuration(settings: SessionSettings) -> dict[str, str]:
    if settings.master.startswith("sc://"):
        return {"spark.sql.session.timeZone": "UTC", **settings.more}
    chosen = settings.java_options
    if chosen is None:
        chosen = (*_gc_options(), *_archive(settings))
    options = (f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}", *chosen)
    configured = {
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
        # It detects task retries with different rows; retries that read files return the same rows.
        "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
        "spark.sql.legacy.parquet.nanosAsLong": "true",
        # Writes partitioned by verdict or day have few open files: no sort is needed.
        "spark.sql.maxConcurrentOutputFileWriters": "16",
        # Samples take ten times their file size in memory, and few large tasks leave cores idle.
        "spark.sql.files.maxPartitionBytes": "32m",
        # There are many groups: the first-level hash map only adds a look-up per row.
        "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
        # Each group collects a time series: falling back to sorting all rows costs more.
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "50000",
        # With column pruning the CSV reader does not notice lines with too few columns.
        "spark.sql.csv.parser.columnPruning.enabled": "false",
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # With a limit the size of all columns is computed anew for each row that goes to a worker.
        "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        # The files of a table come from its log: to look them up in a job of its own costs more.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
    }
    if settings.writes_locally:
        configured |= NO_CHECKSUM_FILES
    jars = [*settings.jars, *(kafka_connector_jars() if settings.kafka else ())]
    if jars:
        configured["spark.jars"] = ",".join(str(jar) for jar in jars)
    return {**configured, **spark_file_systems(), **settings.more}


def _archive(settings: SessionSettings) -> tuple[str, ...]:
    """Executors have another class path: the archive is for jobs in one JVM, without more jars."""
    alone = settings.master.startswith("local") and not settings.jars and not settings.kafka
    return class_archive() if alone else ()


def _gc_options(collector: str = "-XX:+UseParallelGC") -> tuple[str, ...]:
    """No option if the environment sets a collector: Java does not start with two."""
    is_set = any(
        "GC" in os.environ.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
    )
    return () if is_set else (collector,)


def kafka_connector_jars() -> tuple[Path, ...]:
    """The jars of Spark's Kafka connector in a checkout's cache; none if it has no cache."""
    return tuple(sorted(CHECKOUT_JARS.glob("*.jar")))


def parse_jars(text: str) -> tuple[Path, ...]:
    """The jars of `--jars a.jar,b.jar`; each must exist."""
    jars = tuple(Path(part) for part in text.split(",") if part)
    for jar in jars:
        if not jar.is_file():
            raise InvalidRequest(f"{jar}: no such jar")
    return jars


__all__ = [
    "SessionSettings",
    "create_session",
    "kafka_connector_jars",
    "parse_jars",
    "spark_session",
]
