"""Commands on a real 4.1 cluster that wants SASL and TLS: they work, or say why in one sentence."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from jvm.clusters import RealCluster
from kedge.cli.app import run
from tests.real import clusters
from tests.real.secured import NOBODY, PASSWORDS, Secured

pytestmark = pytest.mark.real


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


def test_somebody_without_rights_is_told_so(
    kedge: Kedge, kraft: RealCluster, secured: Secured, tmp_path: Path
) -> None:
    assert (
        run(["topics", "create", "--topic", "guarded", "--bootstrap-server", kraft.bootstrap]) == 0
    )
    config = secured.client(tmp_path / "eve", NOBODY)
    seen = kedge("topics", "list", config=config)
    assert "guarded" not in seen.out.splitlines()
    for words in (
        ("topics", "create", "--topic", "mine"),
        ("configs", "alter", "--topic", "guarded", "--add-config", "retention.ms=1"),
        ("configs", "alter", "--broker-defaults", "--add-config", "log.retention.ms=1"),
        ("configs", "alter", "--user", "eve", "--add-config", "producer_byte_rate=1"),
        ("reassign", "list"),
        ("elect", "--election-type", "preferred", "--all-topic-partitions"),
    ):
        said = sentence(kedge(*words, config=config))
        assert said.endswith("ask the cluster's administrator for the right"), said
    delete = ["topics", "delete", "--topic", "guarded", "--yes"]
    assert run([*delete, "--bootstrap-server", kraft.bootstrap]) == 0


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
