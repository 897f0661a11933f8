"""The server's own TLS: what it serves, and files that are no certificate."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from kedge.cli.app import run
from kedge.lab import Lab
from tests.web.served import serving, settings_for


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    made, key = folder / "server.pem", folder / "server.key"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=kedge"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(made)]
    subprocess.run(["openssl", *words], check=True, capture_output=True)
    return made, key


def test_pages_and_calls_go_through_tls(
    lab: Lab, tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    made, secret = certificate
    settings = settings_for(lab.bootstrap_servers, tmp_path, tls_certificate=made, tls_key=secret)
    with serving(settings) as served:
        assert served.url.startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=str(made))
        with httpx.Client(base_url=served.url, verify=trusting) as client:
            signed = client.post("/api/v1/session", json={"token": served.token})
            assert signed.status_code == 201, signed.text
            assert "; secure" in signed.headers["set-cookie"].lower()
            assert "max-age" in signed.headers["strict-transport-security"]
            assert client.get("/api/v1/clusters").status_code == 200
        with pytest.raises(httpx.TransportError):
            httpx.get(served.url.replace("https", "http"))
        with pytest.raises(httpx.ConnectError, match=r"(?i)certificate"):
            httpx.get(served.url)


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_what_is_no_certificate_is_refused_before_anything_is_made(
    tmp_path: Path,
    certificate: tuple[Path, Path],
    content: str | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if content is not None:
        (tmp_path / "server.pem").write_text(content)
    (tmp_path / "kedge.toml").write_text(
        f'[server]\nport = 0\ndatabase = "sqlite:///{tmp_path}/serve.db"\n'
        f'tls_certificate = "server.pem"\ntls_key = "{certificate[1]}"\n'
        '[clusters.a]\nbootstrap_servers = "127.0.0.1:1"\n'
    )
    assert run(["serve", "--config", str(tmp_path / "kedge.toml")]) == 2
    told = capsys.readouterr()
    assert "server.pem cannot be used" in told.err
    assert len(told.err.strip().splitlines()) == 1
    assert "token" not in told.out
    assert not (tmp_path / "serve.db").exists()
