"""Settings of file systems: from Hadoop and Spark to delta-rs, and errors in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.errors import InvalidRequest, KedgeError, MalformedInput, Unavailable
from kedge.pipeline.tables.store_errors import any_error, store_error
from kedge.pipeline.tables.store_options import hadoop_settings, spark_file_systems, store_options

SITE = """<?xml version="1.0"?><configuration>
<property><name>fs.s3a.endpoint</name><value>s3.example:9000</value></property>
<property><name>fs.s3a.access.key</name><value>${env.SITE_KEY}</value></property>
<property><name>fs.s3a.secret.key</name><value>of-the-site</value></property>
</configuration>"""


@pytest.fixture(autouse=True)
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_CONF_DIR", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))


def test_only_s3_has_options() -> None:
    assert store_options("hdfs://namenode:8020/h") is None
    assert store_options("abfss://c@account.dfs.core.windows.net/h") is None
    options = store_options("s3a://bucket/h") or {}
    assert options["AWS_CONDITIONAL_PUT"] == "etag"
    assert not any("KEY" in name or "ENDPOINT" in name for name in options)


def test_settings_of_spark_override_those_of_hadoop_and_a_bucket_overrides_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "core-site.xml").write_text(SITE)
    lines = ("spark.hadoop.fs.s3a.secret.key  of-spark", "# a comment", "spark.ui.enabled=false")
    (tmp_path / "spark-defaults.conf").write_text("\n".join(lines))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("SITE_KEY", "key")
    found = store_options("s3a://bucket/h") or {}
    assert found["AWS_ENDPOINT_URL"] == "https://s3.example:9000"
    assert (found["AWS_ACCESS_KEY_ID"], found["AWS_SECRET_ACCESS_KEY"]) == ("key", "of-spark")
    assert found["AWS_ALLOW_HTTP"] == "false"
    settings = {**hadoop_settings(), "fs.s3a.bucket.bucket.secret.key": "of-the-bucket"}
    assert (store_options("s3a://bucket/h", settings) or {})["AWS_SECRET_ACCESS_KEY"] == (
        "of-the-bucket"
    )
    assert (store_options("s3a://other/h", settings) or {})["AWS_SECRET_ACCESS_KEY"] == "of-spark"


def test_an_endpoint_of_the_environment_is_for_spark_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert spark_file_systems() == {}
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    assert spark_file_systems()["spark.hadoop.fs.s3a.endpoint"] == "http://127.0.0.1:9000"
    options = store_options("s3a://bucket/h") or {}
    assert options["AWS_ALLOW_HTTP"] == "true"
    assert options["AWS_VIRTUAL_HOSTED_STYLE_REQUEST"] == "false"
    assert spark_file_systems({"fs.s3a.endpoint": "elsewhere"}) == {}


def test_damaged_settings_are_refused_by_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "core-site.xml").write_text("<configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with pytest.raises(MalformedInput, match=r"core-site\.xml: not a file of Hadoop settings"):
        store_options("s3a://bucket/h")


@pytest.mark.parametrize(
    ("text", "kind", "sentence"),
    [
        ("404: <Code>NoSuchBucket</Code>", InvalidRequest, "s3a://b: no such bucket"),
        ("HEAD /b/h in 2ms: 403 Forbidden", InvalidRequest, "s3a://b/h: access denied"),
        ("java.nio.file.AccessDeniedException: h", InvalidRequest, "s3a://b/h: access denied"),
        ("No space left on device (os error 28)", Unavailable, "s3a://b/h: no space left"),
        ("Connection refused (os error 111)", Unavailable, "s3a://b/h: the file system does not"),
        ("another fault\n  ↳ secret_key=abc", Unavailable, "s3a://b/h: another fault"),
    ],
)
def test_a_fault_of_a_file_system_is_one_sentence(
    text: str, kind: type[KedgeError], sentence: str
) -> None:
    error = any_error("s3a://b/h", OSError(text))
    assert isinstance(error, kind)
    assert str(error).startswith(sentence)
    assert "\n" not in str(error)
    assert "abc" not in str(error)


def test_a_text_about_something_else_is_no_fault_of_a_file_system() -> None:
    assert store_error("s3a://b/h", "[DIVIDE_BY_ZERO] Division by zero") is None
