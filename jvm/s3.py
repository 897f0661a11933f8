"""A real S3 server for tests: s3proxy, which keeps objects in memory."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from jvm import free_port, java, resolve

S3PROXY = "s3proxy-2.6.0"
HADOOP_AWS = "hadoop-aws-3.5.0"
REGION = "us-east-1"
CONFIG = """\
s3proxy.endpoint=http://127.0.0.1:{port}
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity={key}
s3proxy.credential={secret}
s3proxy.ignore-unknown-headers=true
jclouds.provider=transient
jclouds.identity=local
jclouds.credential=local
"""
LOG = """\
<configuration>
  <appender name="console" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%logger{0}: %msg%n</pattern></encoder>
  </appender>
  <root level="info"><appender-ref ref="console"/></root>
</configuration>
"""


@dataclass(frozen=True, slots=True)
class S3Server:
    """The address of the server and its credentials."""

    endpoint: str
    key: str
    secret: str

    def create_bucket(self, name: str) -> str:
        """A new bucket; returns its URI."""
        scheme, _, address = self.endpoint.partition("://")
        fs: Any = import_module("pyarrow.fs")
        files = fs.S3FileSystem(
            access_key=self.key,
            secret_key=self.secret,
            endpoint_override=address,
            scheme=scheme,
            region=REGION,
            allow_bucket_creation=True,
        )
        files.create_dir(name)
        return f"s3a://{name}"

    def spark_settings(self) -> dict[str, str]:
        """The settings of Spark that reach it, the class path of S3A among them."""
        jars = f"{resolve(HADOOP_AWS)}/*"
        return {
            "spark.driver.extraClassPath": jars,  # not spark.jars: 690 MB would be copied
            "spark.executor.extraClassPath": jars,
            "spark.hadoop.fs.s3a.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": REGION,
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": self.key,
            "spark.hadoop.fs.s3a.secret.key": self.secret,
        }


@contextlib.contextmanager
def s3_server(directory: Path) -> Generator[S3Server]:
    """A server for the time of a `with` block."""
    resolve(S3PROXY)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "logback.xml").write_text(LOG)
    server = S3Server(f"http://127.0.0.1:{free_port()}", "kedge-test", "not-a-secret-0451")
    config = directory / "s3proxy.conf"
    port = server.endpoint.rpartition(":")[2]
    config.write_text(CONFIG.format(port=port, key=server.key, secret=server.secret))
    options = ("--properties", str(config))
    with java(
        S3PROXY, "org.gaul.s3proxy.Main", *options, cwd=directory, extra_classpath=str(directory)
    ) as process:
        process.wait_for_line("Server: Started", timeout_s=300)
        yield server
