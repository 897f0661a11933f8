"""Certificates and keys from the stores that Kafka's files name, as a TLS context.

What a store is, is told by its first bytes, not by its name. PEM is read by the TLS library. A JKS
trust store holds its certificates in the clear and is read here, its digest checked if there is a
password. PKCS12 is decrypted by the `openssl` program where there is one. Keys of a JKS store, and
PKCS12 without `openssl`, are refused with the command that converts them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Generator
from io import BytesIO
from pathlib import Path

from kedge.cluster.access import Access, Secret, Store
from kedge.errors import AuthenticationFailed, InvalidRequest, MalformedInput

STORE_BYTES_MAX = 16 << 20

JKS_MAGIC = bytes.fromhex("feedfeed")
DER_SEQUENCE = 0x30
SALT = b"Mighty Aphrodite"  # what every JKS digest is seasoned with
TRUSTED_CERTIFICATE = 2


def tls_context(access: Access) -> ssl.SSLContext:
    """The context that connections to the cluster are made with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = access.check_hostname
    if access.trusted:
        _trust(context, access.trusted)
    else:
        context.load_default_certs()
    if access.identity:
        _identify(context, access.identity)
    return context


def _trust(context: ssl.SSLContext, store: Store) -> None:
    pem = store.certificates or _trusted_pem(store)
    try:
        context.load_verify_locations(cadata=pem)
    # ssl says TypeError of text that is not ASCII and ValueError of none.
    except (ssl.SSLError, TypeError, ValueError) as error:
        raise MalformedInput(
            "holds no certificate that can be read", place=_place(store, "truststore")
        ) from error


def _trusted_pem(store: Store) -> str:
    data = _bytes(store.location)
    if data.startswith(JKS_MAGIC):
        found = jks_certificates(data, store.password, store.location)
        return "".join(map(ssl.DER_cert_to_PEM_cert, found))
    if data[:1] == bytes([DER_SEQUENCE]):
        return _from_pkcs12(store, "-nokeys")
    return data.decode(errors="replace")


def _identify(context: ssl.SSLContext, store: Store) -> None:
    with _key_file(store) as path:
        password = store.key_password or store.password
        try:
            # A function, lest the library asks at the terminal where there is no password.
            context.load_cert_chain(path, password=password.reveal)
        except ssl.SSLError as error:
            raise MalformedInput(
                "holds no key and certificate that can be read",
                place=_place(store, "keystore"),
                hint="is the password right?",
            ) from error


@contextlib.contextmanager
def _key_file(store: Store) -> Generator[str]:
    """A PEM file with key and certificates; a temporary one is readable by us alone."""
    if not store.location:
        with _temporary(store.key.reveal() + "\n" + store.certificates) as path:
            yield path
        return
    data = _bytes(store.location)
    if data.startswith(JKS_MAGIC):
        raise _unreadable(store.location, "-nodes -out key-and-certificates.pem")
    if data[:1] == bytes([DER_SEQUENCE]):
        with _temporary(_from_pkcs12(store, "-nodes")) as path:
            yield path
        return
    yield store.location


@contextlib.contextmanager
def _temporary(text: str) -> Generator[str]:
    descriptor, path = tempfile.mkstemp(prefix="kedge-", suffix=".pem")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        yield path
    finally:
        os.unlink(path)


def _from_pkcs12(store: Store, what: str) -> str:
    """What a PKCS12 store holds, as PEM. The password goes through a pipe, never the arguments."""
    program = shutil.which("openssl")
    if program is None:
        raise _unreadable(store.location, f"{what} -out store.pem")
    command = [program, "pkcs12", "-in", store.location, what, "-passin", "stdin"]
    for legacy in ([], ["-legacy"]):
        done = subprocess.run(
            [*command, *legacy],
            input=f"{store.password.reveal()}\n",
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return done.stdout
    if "invalid password" in done.stderr or "mac verify" in done.stderr.lower():
        raise AuthenticationFailed(f"{store.location}: the password does not open this store")
    raise _unreadable(store.location, f"{what} -out store.pem")


def _unreadable(location: str, how: str) -> InvalidRequest:
    return InvalidRequest(
        f"{location}: this key store cannot be read here",
        hint="convert it to PEM: keytool -importkeystore -srckeystore STORE -destkeystore s.p12 "
        f"-deststoretype PKCS12, then openssl pkcs12 -in s.p12 {how}",
    )


def jks_certificates(data: bytes, password: Secret, place: str) -> list[bytes]:
    """The trusted certificates of a JKS store, each in DER."""
    if password and not _digest_fits(data, password):
        raise AuthenticationFailed(f"{place}: the password does not open this store")
    reader = _Reader(data, place)
    reader.take(8)  # the magic number, and the version: 2 in all stores of this century
    certificates: list[bytes] = []
    for _ in range(reader.number(4)):
        tag = reader.number(4)
        reader.take(reader.number(2))  # the alias
        reader.take(8)  # the time of its making
        if tag != TRUSTED_CERTIFICATE:
            raise InvalidRequest(f"{place}: a trust store with a private key in it")
        reader.take(reader.number(2))  # the type: X.509
        certificates.append(reader.take(reader.number(4)))
    return certificates


def _digest_fits(data: bytes, password: Secret) -> bool:
    seasoned = password.reveal().encode("utf-16-be") + SALT + data[:-20]
    return hashlib.sha1(seasoned).digest() == data[-20:]


class _Reader:
    def __init__(self, data: bytes, place: str) -> None:
        self._bytes = BytesIO(data)
        self._place = place

    def take(self, count: int) -> bytes:
        taken = self._bytes.read(count)
        if len(taken) < count:
            raise MalformedInput("the key store ends too early", place=self._place)
        return taken

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "big")


def _bytes(location: str) -> bytes:
    try:
        path = Path(location)
        if path.exists() and not path.is_file():
            raise InvalidRequest(f"{location}: this is not a regular file")
        with path.open("rb") as file:
            data = file.read(STORE_BYTES_MAX + 1)
        if len(data) > STORE_BYTES_MAX:
            raise MalformedInput(f"more than {STORE_BYTES_MAX} bytes", place=location)
        return data
    except ValueError as error:  # a null character, or one that no path can have
        raise InvalidRequest(f"{location!r} is no path") from error
    except OSError as error:
        raise InvalidRequest(f"{location}: {error.strerror or error}") from error


def _place(store: Store, name: str) -> str:
    return store.location or f"ssl.{name}"
