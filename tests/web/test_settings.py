"""The settings of a server: what is read, and what is refused with its place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kedge.errors import InvalidRequest
from kedge.watch.policy import Policy
from kedge.web.access.roles import Principal, Role, merged
from kedge.web.settings import read_settings

WHOLE = """
[server]
port = 9000
read_only = true
[limits]
body_bytes = 5000
[clusters.orders]
bootstrap_servers = "kafka:9092"
command_config = "orders.properties"
sample_s = 2.5
[clusters.orders.policy]
mode = "propose"
[clusters.orders.loads]
prometheus = "http://prometheus:9090"
auth = "prometheus.toml"
range = "30m"
[oidc]
issuer = "https://login.example.com"
client_id = "kedge"
client_secret_file = "secret"
[oidc.roles.operators]
"*" = "apply"
"""
LOADS = "[clusters.a]\nbootstrap_servers = 'x'\n[clusters.a.loads]"


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret\n")
    (tmp_path / "kedge.toml").write_text(WHOLE)
    settings = read_settings(tmp_path / "kedge.toml")
    assert (settings.port, settings.read_only, settings.limits.body_bytes) == (9000, True, 5000)
    orders = settings.clusters["orders"]
    assert orders.command_config == tmp_path / "orders.properties"
    assert (orders.sample_s, orders.state, orders.policy) == (2.5, "cluster", Policy())
    assert orders.loads is not None
    assert (orders.loads.auth, orders.loads.range_s) == (tmp_path / "prometheus.toml", 1800.0)
    assert settings.oidc is not None
    assert settings.oidc.client_secret == "s3cret"
    assert settings.oidc.roles == {"operators": {"*": Role.APPLY}}
    assert "s3cret" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[server]\nprot = 1", "unknown setting 'prot'"),
        ("[server]\nport = true", "is not of the type int"),
        ("[server]\nport = -1", "below 0"),
        ("[limits]\nbody_bytes = '5'", "is not of the type int"),
        ("[clusters.a]\nstate = 'x'", "bootstrap_servers is missing"),
        (f"{LOADS}\nmatch = 'a'", "prometheus is missing"),
        (f"{LOADS}\nprometheus = 'http://x'\nrange = 'long'", "'long' is no time"),
        (f"{LOADS}\nprometheus = 'http://x'\nstatistic = 'p9'", "unknown load 'p9'"),
        (f"{LOADS}\nprometheus = 'http://x'\nevery_s = 0", "0 seconds between two reads"),
        ("[clusters.'a/b']\nbootstrap_servers = 'x'", "cannot name a cluster"),
        ("[oidc]\nissuer = 'x'", "client_id is missing"),
        ("[oidc]\nissuer='x'\nclient_id='y'\n[oidc.roles.g]\n'*'='root'", "is not a role"),
        ("[server", "not TOML"),
        ("[server]\ntls_key = 'k'", "TLS needs a certificate"),
    ],
)
def test_a_fault_is_refused_with_its_place(tmp_path: Path, text: str, fault: str) -> None:
    file = tmp_path / "kedge.toml"
    file.write_text(text)
    with pytest.raises(InvalidRequest, match=fault):
        read_settings(file)


def test_the_higher_role_counts() -> None:
    grants = merged({"*": Role.READ, "a": Role.ADMIN}, {"*": Role.PLAN, "a": Role.READ})
    principal = Principal("someone", grants)
    assert principal.role_on("a") is Role.ADMIN
    assert principal.role_on("b") is Role.PLAN


def test_settings_are_shown_as_they_are_used_with_secrets_masked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from kedge.cli.app import run

    (tmp_path / "secret").write_text("s3cret\n")
    database = 'database = "postgresql://kedge:hunter2@db/kedge"\n'
    hook = '[[clusters.orders.policy.webhooks]]\nform = "json"\nurl = "https://h.example/x/y"\n'
    text = WHOLE.replace("port = 9000\n", f"port = 9000\n{database}") + hook
    text = text.replace("http://prometheus", "http://reader:pr0metheus@prometheus")
    (tmp_path / "kedge.toml").write_text(text)
    assert run(["config", "show", "--config", str(tmp_path / "kedge.toml"), "--port", "81"]) == 0
    shown = capsys.readouterr().out
    for secret in ("s3cret", "hunter2", "/x/y", "pr0metheus", "reader"):
        assert secret not in shown
    assert "port = 81\n" in shown
    assert 'prometheus = "http://********@prometheus:9090"' in shown
    assert 'client_secret = "********"' in shown
    assert '[clusters.orders.policy]\nmode = "propose"' in shown
    (tmp_path / "again.toml").write_text(
        shown.replace('client_secret = "********"\n', "").replace(":***@", "@")
    )
    again = read_settings(tmp_path / "again.toml")
    assert again.clusters["orders"].policy.webhooks[0].url == "https://h.example/…"
    assert again.limits.body_bytes == 5000
    assert again.clusters["orders"].loads is not None


@pytest.mark.parametrize(
    ("options", "used"),
    [((), "postgresql://env/kedge"), (("--database", "postgresql://typed/kedge"), "//typed/")],
)
def test_the_database_of_the_environment_replaces_that_of_the_file(
    tmp_path: Path, options: tuple[str, ...], used: str
) -> None:
    file = tmp_path / "kedge.toml"
    file.write_text(
        '[server]\ndatabase = "postgresql://file/kedge"\n[clusters.a]\nbootstrap_servers = "x"\n'
    )
    command = [sys.executable, "-m", "kedge", "config", "show", "--config", str(file), *options]
    environment = os.environ | {"KEDGE_DATABASE": "postgresql://env/kedge"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert used in done.stdout
    assert "//file/" not in done.stdout
