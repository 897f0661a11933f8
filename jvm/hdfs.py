"""A real HDFS for tests: a name node and a data node in one JVM."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path

from jvm import free_port, java, resolve

HADOOP = "hadoop-3.5.0"
MANAGER = "org.apache.hadoop.test.MiniDFSClusterManager"
LOG = """\
log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%c{1}: %m%n
"""


@contextlib.contextmanager
def hdfs(directory: Path) -> Generator[str]:
    """A file system for the time of a `with` block; yields its URI, without a slash at its end."""
    resolve(HADOOP)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "log4j.properties").write_text(LOG)
    port = str(free_port())
    options = ["-datanodes", "1", "-format", "-nnport", port, "-httpport", str(free_port())]
    settings = {
        "hdfs.minidfs.basedir": directory / "data",
        "dfs.replication": 1,
        "dfs.permissions.enabled": "false",
        # the data of an ingest is small, and so is the disk of a test machine
        "dfs.datanode.du.reserved": 0,
    }
    options += [f"-D{name}={value}" for name, value in settings.items()]
    with java(HADOOP, MANAGER, *options, cwd=directory, extra_classpath=str(directory)) as process:
        process.wait_for_line("MiniDFSClusterManager: Started MiniDFSCluster", timeout_s=300)
        yield f"hdfs://127.0.0.1:{port}"
