"""Settings of file systems, for delta-rs and for Spark: one place for both.

Hadoop's settings are those of Spark: `core-site.xml` in `HADOOP_CONF_DIR`, and the lines
`spark.hadoop.…` of `spark-defaults.conf` in `SPARK_CONF_DIR`, which override it. What they say of
an S3 bucket becomes options of delta-rs. Where they say nothing, delta-rs and Hadoop take
credentials from the environment (`AWS_ACCESS_KEY_ID` …), and the address of the server is passed on
from there. HDFS needs no options: delta-rs reads `core-site.xml` and `hdfs-site.xml` itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from xml.etree import ElementTree

from kedge.errors import MalformedInput
from kedge.files import read_bytes

S3: Final = ("s3", "s3a")
PREFIX: Final = "fs.s3a."
SPARK_PREFIX: Final = "spark.hadoop."
SPARK_LINE: Final = re.compile(r"(\S+?)(?:\s*[=:]\s*|\s+)(\S.*)")
ENVIRONMENT: Final = re.compile(r"\$\{env\.(\w+)(?::?-([^}]*))?\}")
CREDENTIALS: Final = {
    "access.key": "AWS_ACCESS_KEY_ID",
    "secret.key": "AWS_SECRET_ACCESS_KEY",
    "session.token": "AWS_SESSION_TOKEN",
}
# An address without a server behind it is an error after seconds, not after minutes.
RETRIES: Final = {"max_retries": "4", "retry_timeout": "30s", "connect_timeout": "10s"}
REGION: Final = (
    "us-east-1"  # of servers that have no regions, but whose requests are signed for one
)


def store_options(uri: str, settings: Mapping[str, str] | None = None) -> dict[str, str] | None:
    """The options of delta-rs for the file system of a URI; None if it needs none."""
    parts = urlsplit(uri)
    if parts.scheme not in S3:
        return None
    found = _of_bucket(hadoop_settings() if settings is None else settings, parts.netloc)
    # A commit is a PUT that fails if the object exists: without it, the last of two commits wins.
    options = {**RETRIES, "AWS_CONDITIONAL_PUT": "etag"}
    options |= {name: found[key] for key, name in CREDENTIALS.items() if found.get(key)}
    endpoint = found.get("endpoint") or _endpoint_of_environment()
    if endpoint:
        plain = found.get("connection.ssl.enabled", "true").lower() == "false"
        address = endpoint if "://" in endpoint else f"http{'' if plain else 's'}://{endpoint}"
        options["AWS_ENDPOINT_URL"] = address
        options["AWS_ALLOW_HTTP"] = str(address.startswith("http:")).lower()
        options["AWS_VIRTUAL_HOSTED_STYLE_REQUEST"] = str(not _path_style(found)).lower()
    region = found.get("endpoint.region") or _region_of_environment()
    if region or endpoint:
        options["AWS_REGION"] = region or REGION
    return options


def spark_file_systems(settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """What Spark must be told of S3: the address of the server, if only the environment has it."""
    endpoint = _endpoint_of_environment()
    if not endpoint or f"{PREFIX}endpoint" in (hadoop_settings() if settings is None else settings):
        return {}
    return {
        f"{SPARK_PREFIX}{PREFIX}endpoint": endpoint,
        f"{SPARK_PREFIX}{PREFIX}path.style.access": "true",
        f"{SPARK_PREFIX}{PREFIX}endpoint.region": _region_of_environment() or REGION,
    }


def hadoop_settings() -> dict[str, str]:
    """The settings of Hadoop as Spark will have them, without its defaults."""
    return {**_core_site(), **_spark_defaults()}


def _core_site() -> dict[str, str]:
    directory = os.environ.get("HADOOP_CONF_DIR")
    file = Path(directory or ".") / "core-site.xml"
    if not directory or not file.is_file():
        return {}
    try:
        properties = ElementTree.fromstring(read_bytes(file)).iter("property")
    except ElementTree.ParseError as error:
        raise MalformedInput(f"not a file of Hadoop settings ({error})", place=str(file)) from error
    pairs = ((one.findtext("name", ""), one.findtext("value", "")) for one in properties)
    return {name.strip(): _with_environment(value.strip()) for name, value in pairs}


def _spark_defaults() -> dict[str, str]:
    file = _spark_conf_dir() / "spark-defaults.conf"
    if not file.is_file():
        return {}
    found: dict[str, str] = {}
    for line in read_bytes(file).decode(errors="replace").splitlines():
        setting = SPARK_LINE.fullmatch(line.strip())
        if setting and setting[1].startswith(SPARK_PREFIX):
            value = _with_environment(setting[2].strip())
            found[setting[1].removeprefix(SPARK_PREFIX)] = value
    return found


def _spark_conf_dir() -> Path:
    """The directory in which Spark looks for its settings."""
    directory = os.environ.get("SPARK_CONF_DIR")
    if directory:
        return Path(directory)
    package = find_spec("pyspark")
    origin = package.origin if package else None
    return Path(os.environ.get("SPARK_HOME") or Path(origin or ".").parent) / "conf"


def _with_environment(value: str) -> str:
    """The value with variables like `${env.NAME}` replaced, as Hadoop does it."""
    return ENVIRONMENT.sub(lambda found: os.environ.get(found[1], found[2] or ""), value)


def _of_bucket(settings: Mapping[str, str], bucket: str) -> dict[str, str]:
    """The settings of S3A; those of the bucket override the others."""
    own = f"{PREFIX}bucket.{bucket}."
    common = {name: value for name, value in settings.items() if name.startswith(PREFIX)}
    return {
        **{name.removeprefix(PREFIX): value for name, value in common.items()},
        **{name.removeprefix(own): v for name, v in common.items() if name.startswith(own)},
    }


def _path_style(found: Mapping[str, str]) -> bool:
    default = "false" if found.get("endpoint") else "true"
    return found.get("path.style.access", default).lower() == "true"


def _endpoint_of_environment() -> str:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


def _region_of_environment() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
