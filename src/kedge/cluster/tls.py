"""Makes a TLS context of the key and trust stores that Kafka's client properties name.

The first bytes of a store decide its type, not its name. PEM is read by the TLS library, PKCS12 by
`cryptography`. A JKS trust store has its certificates in the clear and is read here; its digest is
checked if there is a password. Keys of a JKS store are refused with the command that converts them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import ssl
import tempfile
from collections.abc import Generator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.cluster.access import Access, Secret, Store
from kedge.errors import AuthenticationFailed, InvalidRequest, MalformedInput

if TYPE_CHECKING:  # slow to import, and needed only for PKCS12
    from cryptography.hazmat.primitives.serialization.pkcs12 import (
        PKCS12Certificate,
        PKCS12KeyAndCertificates,
    )

STORE_BYTES_MAX = 16 << 20

JKS_MAGIC = bytes.fromhex("feedfeed")
DER_SEQUENCE = 0x30
SALT = b"Mighty Aphrodite"  # part of every JKS digest
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


def server_tls_context(access: Access, client_auth: ssl.VerifyMode) -> ssl.SSLContext:
    """The context of a listener whose key is the identity of `access`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _identify(context, access.identity)
    context.verify_mode = client_auth
    if client_auth is not ssl.CERT_NONE and access.trusted:
        _trust(context, access.trusted)
    return context


def _trust(context: ssl.SSLContext, store: Store) -> None:
    pem = trusted_pem(store)
    try:
        context.load_verify_locations(cadata=pem)
    # ssl raises TypeError for text that is not ASCII and ValueError for empty text.
    except (ssl.SSLError, TypeError, ValueError) as error:
        raise MalformedInput(
            "holds no certificate that can be read", place=_place(store, "truststore")
        ) from error


def trusted_pem(store: Store) -> str:
    """The trusted certificates of a store, as PEM."""
    if store.certificates:
        return store.certificates
    data = _bytes(store.location)
    if data.startswith(JKS_MAGIC):
        found = jks_certificates(data, store.password, store.location)
        return "".join(map(ssl.DER_cert_to_PEM_cert, found))
    if data[:1] == bytes([DER_SEQUENCE]):
        return _pkcs12_certificates(data, store)
    return data.decode(errors="replace")


def _identify(context: ssl.SSLContext, store: Store) -> None:
    with _key_file(store) as path:
        password = store.key_password or store.password
        try:
            # A function: without a password the library would prompt at the terminal.
            context.load_cert_chain(path, password=password.reveal)
        except ssl.SSLError as error:
            raise MalformedInput(
                "holds no key and certificate that can be read",
                place=_place(store, "keystore"),
                hint="is the password right?",
            ) from error


def identity_pem(store: Store) -> str:
    """The key and the certificates of a store, as PEM; the key may still be encrypted."""
    with _key_file(store) as path:
        return _bytes(path).decode(errors="replace")


@contextlib.contextmanager
def _key_file(store: Store) -> Generator[str]:
    """A PEM file with key and certificates; a temporary one is readable by this user alone."""
    if not store.location:
        with _temporary(store.key.reveal() + "\n" + store.certificates) as path:
            yield path
        return
    data = _bytes(store.location)
    if data.startswith(JKS_MAGIC):
        raise InvalidRequest(
            f"{store.location}: keys of a JKS store cannot be read",
            hint="convert it to PKCS12: keytool -importkeystore -srckeystore STORE "
            "-destkeystore store.p12 -deststoretype PKCS12",
        )
    if data[:1] == bytes([DER_SEQUENCE]):
        with _temporary(_pkcs12_identity(data, store)) as path:
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


def _pkcs12_certificates(data: bytes, store: Store) -> str:
    """The certificates of a PKCS12 store, as PEM."""
    loaded = _load_pkcs12(data, store)
    found = [*([loaded.cert] if loaded.cert else []), *loaded.additional_certs]
    return "".join(_pem(each) for each in found)


def _pkcs12_identity(data: bytes, store: Store) -> str:
    """The key of a PKCS12 store and the certificates of its chain, as PEM."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    loaded = _load_pkcs12(data, store)
    if loaded.key is None or loaded.cert is None:
        raise MalformedInput("holds no key with its certificate", place=store.location)
    key = loaded.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return key.decode() + "".join(map(_pem, (loaded.cert, *loaded.additional_certs)))


def _load_pkcs12(data: bytes, store: Store) -> PKCS12KeyAndCertificates:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    password = store.password.reveal().encode()
    try:
        return load_pkcs12(data, password or None)
    except (ValueError, UnsupportedAlgorithm, TypeError) as error:
        if "password" in str(error).lower():
            raise AuthenticationFailed(
                f"{store.location}: the password does not open this store"
            ) from error
        raise MalformedInput("does not read as a PKCS12 store", place=store.location) from error


def _pem(each: PKCS12Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return each.certificate.public_bytes(Encoding.PEM).decode()


def jks_certificates(data: bytes, password: Secret, place: str) -> list[bytes]:
    """The trusted certificates of a JKS store, each in DER."""
    if password and not _digest_fits(data, password):
        raise AuthenticationFailed(f"{place}: the password does not open this store")
    reader = _Reader(data, place)
    reader.take(8)  # the magic number, and the version, which is 2
    certificates: list[bytes] = []
    for _ in range(reader.number(4)):
        tag = reader.number(4)
        reader.take(reader.number(2))  # the alias
        reader.take(8)  # the time of creation
        if tag != TRUSTED_CERTIFICATE:
            raise InvalidRequest(f"{place}: a trust store with a private key in it")
        reader.take(reader.number(2))  # the type: X.509
        certificates.append(reader.take(reader.number(4)))
    return certificates


def _digest_fits(data: bytes, password: Secret) -> bool:
    salted = password.reveal().encode("utf-16-be") + SALT + data[:-20]
    return hashlib.sha1(salted).digest() == data[-20:]


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
