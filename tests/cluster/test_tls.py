"""Certificates and keys from the stores that Kafka's files name."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest

from kedge.cluster.access import Access, Secret, Store
from kedge.cluster.tls import jks_certificates, tls_context
from kedge.errors import AuthenticationFailed, InvalidRequest, KedgeError, MalformedInput
from tests.cluster.key_stores import PASSWORD, jks


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate and its key: in the clear, under a password, and in a PKCS12 store."""
    directory = tmp_path_factory.mktemp("stores")
    for arguments in (
        "req -x509 -newkey rsa:2048 -nodes -keyout open.key -out c.pem -days 2 -subj /CN=kedge",
        f"rsa -aes256 -in open.key -out shut.key -passout pass:{PASSWORD}",
        f"pkcs12 -export -inkey open.key -in c.pem -out s.p12 -passout pass:{PASSWORD}",
    ):
        command = ["openssl", *arguments.split()]
        subprocess.run(command, cwd=directory, check=True, capture_output=True)
    certificate = (directory / "c.pem").read_text()
    for kind in ("open", "shut"):
        (directory / f"{kind}.pem").write_text(
            (directory / f"{kind}.key").read_text() + certificate
        )
    return directory


def identified(store: Store) -> None:
    tls_context(Access(protocol="SSL", identity=store))


def trusting(store: Store) -> int:
    """How many CAs a context trusts."""
    return tls_context(Access(protocol="SSL", trusted=store)).cert_store_stats()["x509"]


def test_a_jks_store_gives_its_certificates() -> None:
    data = jks(b"one", b"two")
    assert jks_certificates(data, Secret(PASSWORD), "x") == [b"one", b"two"]
    assert jks_certificates(data, Secret(), "x") == [b"one", b"two"]


@pytest.mark.parametrize(
    ("data", "password", "kind", "named"),
    [
        (jks(b"one"), "closesesame", AuthenticationFailed, "does not open"),
        (jks(b"one")[:30], "", MalformedInput, "too early"),
        (jks(b"one", tag=1), PASSWORD, InvalidRequest, "private key"),
    ],
)
def test_a_jks_store_that_cannot_be_read_is_named(
    data: bytes, password: str, kind: type[KedgeError], named: str
) -> None:
    with pytest.raises(kind, match=named) as refusal:
        jks_certificates(data, Secret(password), "trust.jks")
    assert "trust.jks" in str(refusal.value)
    assert not password or password not in str(refusal.value)


def test_certificates_are_trusted_from_a_file_and_from_text(stores: Path) -> None:
    assert trusting(Store(str(stores / "c.pem"))) == 1
    assert trusting(Store(certificates=(stores / "c.pem").read_text())) == 1
    assert trusting(Store(str(stores / "s.p12"), Secret(PASSWORD))) == 1


def test_a_key_is_read_from_a_file_a_store_and_from_text(stores: Path) -> None:
    identified(Store(str(stores / "open.pem")))
    identified(Store(str(stores / "shut.pem"), key_password=Secret(PASSWORD)))
    identified(Store(str(stores / "s.p12"), Secret(PASSWORD)))
    text = (stores / "open.key").read_text()
    identified(Store(certificates=(stores / "c.pem").read_text(), key=Secret(text)))


@pytest.mark.parametrize(
    ("name", "password", "kind"),
    [
        ("shut.pem", "closesesame", MalformedInput),
        ("shut.pem", "", MalformedInput),
        ("s.p12", "closesesame", AuthenticationFailed),
        ("c.pem", "", MalformedInput),
        ("none.pem", "", InvalidRequest),
    ],
)
def test_a_key_that_does_not_open_is_refused_without_its_password(
    stores: Path, name: str, password: str, kind: type[KedgeError]
) -> None:
    with pytest.raises(kind) as refusal:
        identified(Store(str(stores / name), Secret(password)))
    assert name in str(refusal.value)
    assert not password or password not in str(refusal.value)


@pytest.mark.parametrize("options", ["", "-legacy", "-nokeys", "-certpbe NONE -keypbe NONE"])
def test_pkcs12_is_read_as_old_and_new_programs_write_it(stores: Path, options: str) -> None:
    command = f"pkcs12 -export -in c.pem -out other.p12 -passout pass:{PASSWORD} {options}"
    with_key = "" if "-nokeys" in options else "-inkey open.key"
    subprocess.run(
        ["openssl", *command.split(), *with_key.split()],
        cwd=stores,
        check=True,
        capture_output=True,
    )
    store = Store(str(stores / "other.p12"), Secret(PASSWORD))
    assert trusting(store) == 1
    if with_key:
        identified(store)
    else:
        with pytest.raises(MalformedInput, match="no key"):
            identified(store)


def test_a_damaged_pkcs12_store_is_refused_in_one_sentence(stores: Path) -> None:
    path = stores / "cut.p12"
    path.write_bytes((stores / "s.p12").read_bytes()[:300])
    with pytest.raises(MalformedInput, match=r"cut\.p12"):
        identified(Store(str(path), Secret(PASSWORD)))


def test_a_jks_key_store_is_refused_with_the_way_to_convert_it(tmp_path: Path) -> None:
    path = tmp_path / "key.jks"
    path.write_bytes(jks(b"one", tag=1))
    with pytest.raises(InvalidRequest, match="keytool -importkeystore"):
        identified(Store(str(path), Secret(PASSWORD)))


def test_what_is_no_certificate_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nothing.pem"
    path.write_text("nothing")
    with pytest.raises(MalformedInput, match=r"nothing\.pem"):
        trusting(Store(str(path)))


def test_no_temporary_key_is_left_behind(stores: Path) -> None:
    def keys() -> set[Path]:
        return set(Path(tempfile.gettempdir()).glob("kedge-*.pem"))

    before = keys()
    identified(Store(str(stores / "s.p12"), Secret(PASSWORD)))
    assert keys() <= before
