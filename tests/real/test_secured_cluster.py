"""Commands on a real 4.1 cluster that wants SASL and TLS: they work, or say why in one sentence."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import admin as kafka_admin

from jvm.clusters import RealCluster
from kedge.cli.app import run
from tests.real import clusters
from tests.real.secured import NOBODY, PASSWORDS, Secured

pytestmark = pytest.mark.real

acls: Any = kafka_admin  # does not say which of its names are public


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int
    out: str
    err: str


Kedge = Callable[..., Outcome]


@pytest.fixture
def secured(pytestconfig: pytest.Config, kraft: RealCluster) -> Secured:
    assert kraft.bootstrap
    return clusters.security(pytestconfig)


@pytest.fixture
def kedge(
    secured: Secured,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> Kedge:
    """Run a command on the secured listener; no secret may show up in anything it writes."""
    caplog.set_level(logging.DEBUG)

    def invoke(*arguments: str, config: Path | None = None, where: str = "") -> Outcome:
        given = () if config is None else ("--command-config", str(config))
        code = run([*arguments, "--bootstrap-server", where or secured.bootstrap, *given])
        captured = capfd.readouterr()
        written = captured.out + captured.err + caplog.text
        for secret in (*PASSWORDS.values(), "wrong-password"):
            assert secret not in written
        return Outcome(code, captured.out, captured.err)

    return invoke


def sentence(outcome: Outcome) -> str:
    assert outcome.code != 0
    (line,) = outcome.err.splitlines()
    return line.removeprefix("kedge: ")


def test_the_right_password_opens_the_door(kedge: Kedge, secured: Secured, tmp_path: Path) -> None:
    config = secured.client(tmp_path / "ada.properties")
    assert kedge("topics", "create", "--topic", "sealed", config=config).code == 0
    outcome = kedge("topics", "list", config=config)
    assert "sealed" in outcome.out.splitlines()
    assert kedge("topics", "delete", "--topic", "sealed", "--yes", config=config).code == 0


def test_a_password_with_odd_signs_is_read_as_kafka_reads_it(
    kedge: Kedge, secured: Secured, tmp_path: Path
) -> None:
    outcome = kedge("topics", "list", config=secured.client(tmp_path / "bob.properties", "bob"))
    assert outcome.code == 0


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_proves_the_password_without_sending_it(
    kedge: Kedge,
    kraft: RealCluster,
    secured: Secured,
    pytestconfig: pytest.Config,
    tmp_path: Path,
    mechanism: str,
) -> None:
    tools = clusters.tools_of(pytestconfig, kraft)
    config = f"{mechanism}=[password={PASSWORDS['ada']}]"
    user = ("--entity-type", "users", "--entity-name", "ada")
    at = ("--bootstrap-server", kraft.bootstrap)
    assert tools("configs", "--alter", *at, *user, "--add-config", config).code == 0
    right = secured.client(tmp_path / "right", mechanism=mechanism)
    assert kedge("topics", "list", config=right).code == 0
    wrong = secured.client(tmp_path / "wrong", mechanism=mechanism, password="wrong-password")
    said = sentence(kedge("topics", "list", config=wrong))
    assert f"SASL {mechanism} refused user 'ada'" in said


def test_a_wrong_password_is_told_at_once(kedge: Kedge, secured: Secured, tmp_path: Path) -> None:
    config = secured.client(tmp_path / "p", password="wrong-password")
    said = sentence(kedge("topics", "list", config=config))
    assert "SASL PLAIN refused user 'ada'" in said
    assert said.endswith("check username and password in sasl.jaas.config")


def test_a_certificate_of_another_ca_is_not_trusted(
    kedge: Kedge, secured: Secured, tmp_path: Path
) -> None:
    config = secured.client(tmp_path / "p", ssl_truststore_location=str(secured.other_ca))
    said = sentence(kedge("topics", "list", config=config))
    assert "the broker's certificate is not trusted" in said
    assert said.endswith("name the CA that signed it in ssl.truststore.location")


def test_without_a_trust_store_the_machine_s_own_cas_count(
    kedge: Kedge, secured: Secured, tmp_path: Path
) -> None:
    config = secured.client(tmp_path / "p", ssl_truststore_location="")
    assert "is not trusted" in sentence(kedge("topics", "list", config=config))


def test_a_name_that_is_not_in_the_certificate_is_refused_unless_names_do_not_count(
    kedge: Kedge, secured: Secured, tmp_path: Path
) -> None:
    where = secured.bootstrap.replace("localhost", "127.0.0.1")
    config = secured.client(tmp_path / "strict")
    said = sentence(kedge("topics", "list", config=config, where=where))
    assert "is not trusted" in said
    assert "ssl.endpoint.identification.algorithm" in said
    lax = secured.client(tmp_path / "lax", ssl_endpoint_identification_algorithm="")
    assert kedge("topics", "list", config=lax, where=where).code == 0


@pytest.fixture
def guarded(kraft: RealCluster) -> Generator[str]:
    """A topic that users without rights may do nothing with, until `allow` is used."""
    at = ("--bootstrap-server", kraft.bootstrap)
    assert run(["topics", "create", "--topic", "guarded", *at]) == 0
    yield "guarded"
    assert run(["topics", "delete", "--topic", "guarded", "--yes", *at]) == 0


def allow(kraft: RealCluster, topic: str, *operations: str) -> None:
    """Let the user without rights do this."""
    admin = acls.AdminClient({"bootstrap.servers": kraft.bootstrap, "log_level": 0})
    bindings = [
        acls.AclBinding(
            acls.ResourceType.TOPIC,
            topic,
            acls.ResourcePatternType.LITERAL,
            f"User:{NOBODY}",
            "*",
            acls.AclOperation[operation],
            acls.AclPermissionType.ALLOW,
        )
        for operation in operations
    ]
    for made in admin.create_acls(bindings).values():
        made.result(20)


def forbid(kraft: RealCluster, topic: str) -> None:
    """Remove what `allow` has added."""
    every = acls.AclBindingFilter(
        acls.ResourceType.TOPIC,
        topic,
        acls.ResourcePatternType.LITERAL,
        f"User:{NOBODY}",
        None,
        acls.AclOperation.ANY,
        acls.AclPermissionType.ANY,
    )
    admin = acls.AdminClient({"bootstrap.servers": kraft.bootstrap, "log_level": 0})
    for gone in admin.delete_acls([every]).values():
        gone.result(20)


MISSING = {
    "topics create --topic mine": "Create on Cluster (or Create on Topic mine)",
    "configs describe --topic guarded": "DescribeConfigs on Topic guarded",
    "configs describe --broker 1": "DescribeConfigs on Cluster",
    "configs describe --group readers": "DescribeConfigs on Group readers",
    "configs describe --user eve": "DescribeConfigs on Cluster",
    "configs alter --broker-defaults --add-config log.retention.ms=1": "DescribeConfigs on Cluster",
    "configs alter --user eve --add-config producer_byte_rate=1": "DescribeConfigs on Cluster",
    "reassign list": "Describe on Cluster",
    "elect --election-type preferred --all-topic-partitions": "Alter on Cluster",
}


@pytest.mark.parametrize(("words", "permission"), MISSING.items(), ids=MISSING)
def test_a_refusal_by_the_authorizer_names_the_missing_permission(
    kedge: Kedge, guarded: str, secured: Secured, tmp_path: Path, words: str, permission: str
) -> None:
    config = secured.client(tmp_path / "eve", NOBODY)
    assert guarded not in kedge("topics", "list", config=config).out.splitlines()
    said = sentence(kedge(*words.split(), config=config))
    assert said == f"Missing permission: {permission}"


def test_describing_a_topic_needs_no_more_permissions_than_with_kafkas_tool(
    kedge: Kedge,
    kraft: RealCluster,
    guarded: str,
    secured: Secured,
    tmp_path: Path,
    pytestconfig: pytest.Config,
) -> None:
    config = secured.client(tmp_path / "eve", NOBODY, ssl_truststore_type="PEM")
    describe = ("topics", "describe", "--topic", guarded)
    assert sentence(kedge(*describe, config=config)) == "Topic 'guarded' not found"

    allow(kraft, guarded, "DESCRIBE")
    bare = until_permitted(lambda: kedge(*describe, config=config))
    assert bare.out.splitlines()[0].endswith("\tConfigs: ")
    missing = "Missing permission: DescribeConfigs on Topic guarded"
    assert bare.err == f"note: configs of topic guarded are not shown: {missing}\n"
    assert sentence(kedge(*describe, "--under-min-isr-partitions", config=config)) == missing
    for words, operation in (
        (("topics", "alter", "--topic", guarded, "--partitions", "9"), "Alter"),
        (("topics", "delete", "--topic", guarded, "--yes"), "Delete"),
    ):
        said = sentence(kedge(*words, config=config))
        assert said == f"Missing permission: {operation} on Topic guarded"

    allow(kraft, guarded, "DESCRIBE_CONFIGS")
    full = until_permitted(lambda: kedge(*describe, config=config), wanted="Configs: min")
    tools = clusters.tools_of(pytestconfig, kraft)
    at = ("--bootstrap-server", secured.bootstrap, "--command-config", str(config))
    assert full.out == tools("topics", "--describe", "--topic", guarded, *at).out
    assert full.err == ""
    altered = kedge("configs", "alter", "--topic", guarded, "--add-config", "retention.ms=1")
    assert altered.code != 0  # without a password
    said = sentence(
        kedge("configs", "alter", "--topic", guarded, "--add-config", "a=1", config=config)
    )
    assert said == "Missing permission: AlterConfigs on Topic guarded"
    forbid(kraft, guarded)


def until_permitted(ask: Callable[[], Outcome], wanted: str = "Topic: ") -> Outcome:
    """Ask until brokers have learned of a new permission, 20 s at most."""
    deadline = time.monotonic() + 20
    while wanted not in (outcome := ask()).out:
        assert time.monotonic() < deadline, outcome
        time.sleep(0.1)
    return outcome


def test_a_topic_by_its_id_is_shown_as_kafkas_tool_shows_it(
    kraft: RealCluster, guarded: str, pytestconfig: pytest.Config, capfd: pytest.CaptureFixture[str]
) -> None:
    at = ("--bootstrap-server", kraft.bootstrap)
    capfd.readouterr()
    assert run(["topics", "describe", "--topic", guarded, "--output", "json", *at]) == 0
    (topic,) = json.loads(capfd.readouterr().out)["topics"]
    by_id = ("--topic-id", topic["topic_id"])
    assert run(["topics", "describe", *by_id, *at]) == 0
    shown = capfd.readouterr().out
    assert "Elr: N/A" in shown
    assert shown == clusters.tools_of(pytestconfig, kraft)("topics", "--describe", *by_id, *at).out


@pytest.mark.parametrize(
    "words", ["--group nothing", "--client-metrics nothing", "--entity-type groups"]
)
def test_unknown_groups_and_subscriptions_are_described_as_by_kafkas_tool(
    kraft: RealCluster, pytestconfig: pytest.Config, capfd: pytest.CaptureFixture[str], words: str
) -> None:
    at = ("--bootstrap-server", kraft.bootstrap)
    tools = clusters.tools_of(pytestconfig, kraft)
    theirs = tools("configs", "--describe", *words.split(), *at)
    capfd.readouterr()
    assert run(["configs", "describe", *words.split(), *at]) == theirs.code == 0
    assert capfd.readouterr().out == theirs.out


def test_a_client_without_tls_is_told_what_the_listener_wants(
    kedge: Kedge, secured: Secured, tmp_path: Path
) -> None:
    quick = secured.properties(
        tmp_path / "p", request_timeout_ms="1000", default_api_timeout_ms="1500"
    )
    assert "TLS" in sentence(kedge("topics", "list", config=quick))


def test_a_client_without_sasl_is_told_what_the_listener_wants(
    kedge: Kedge, secured: Secured, tmp_path: Path
) -> None:
    config = secured.properties(
        tmp_path / "p",
        security_protocol="SSL",
        ssl_truststore_location=str(secured.ca),
        default_api_timeout_ms="1500",
    )
    assert "SASL" in sentence(kedge("topics", "list", config=config))


def test_tls_to_a_plain_listener_is_told(
    kedge: Kedge, kraft: RealCluster, secured: Secured, tmp_path: Path
) -> None:
    config = secured.client(tmp_path / "p", default_api_timeout_ms="1500")
    said = sentence(kedge("topics", "list", config=config, where=kraft.bootstrap))
    assert "TLS" in said


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_java_s_trust_stores_are_read(
    kedge: Kedge, secured: Secured, tmp_path: Path, kind: str
) -> None:
    store = tmp_path / "trust"
    keytool = shutil.which("keytool")
    assert keytool is not None
    command = [keytool, "-importcert", "-noprompt", "-alias", "ca", "-file", str(secured.ca)]
    command += ["-keystore", str(store), "-storetype", kind, "-storepass", "opensesame"]
    subprocess.run(command, check=True, capture_output=True)
    more = {"ssl_truststore_location": str(store), "ssl_truststore_type": kind}
    right = secured.client(tmp_path / "right", ssl_truststore_password="opensesame", **more)
    assert kedge("topics", "list", config=right).code == 0
    wrong = secured.client(tmp_path / "wrong", ssl_truststore_password="closesesame", **more)
    said = sentence(kedge("topics", "list", config=wrong))
    assert said.endswith("the password does not open this store")


def test_the_installed_program_keeps_secrets_even_when_all_logs_are_shown(
    secured: Secured, tmp_path: Path
) -> None:
    config = secured.client(tmp_path / "p", password="wrong-password")
    program = (
        "import logging, sys; logging.basicConfig(level=0); "
        "from kedge.cli.app import run; sys.exit(run(sys.argv[1:]))"
    )
    arguments = ["topics", "list", "--bootstrap-server", secured.bootstrap]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments, "--command-config", str(config)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert "refused user 'ada'" in done.stderr
    assert "wrong-password" not in done.stdout + done.stderr
