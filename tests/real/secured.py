"""A CA, certificates and users for a listener with SASL and TLS, made anew for each run."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jvm import free_port
from jvm.clusters import BROKERS

PASSWORDS = {"ada": "correct-horse-battery", "bob": 'stap"le\\=pass word', "eve": "eavesdropper7"}
ADMIN = "ada"  # a super user
NOBODY = "eve"  # known, and allowed nothing
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@dataclass(frozen=True, slots=True)
class Secured:
    """What clients and brokers need to know."""

    directory: Path
    ports: Mapping[int, int]

    @property
    def bootstrap(self) -> str:
        return ",".join(f"localhost:{port}" for port in self.ports.values())

    @property
    def ca(self) -> Path:
        return self.directory / "ca.pem"

    @property
    def other_ca(self) -> Path:
        return self.directory / "other-ca.pem"

    def broker(self, broker: int) -> dict[str, str]:
        """The settings that give a broker the second listener."""
        users = " ".join(f'user_{name}="{quoted(word)}"' for name, word in PASSWORDS.items())
        return {
            "listeners": f",SASL_SSL://localhost:{self.ports[broker]}",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": escaped(f"{PLAIN} required {users};"),
            "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": f"{SCRAM} required;",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.directory / "broker.pem"),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:ANONYMOUS;User:{ADMIN}",
        }

    def properties(self, path: Path, **settings: str) -> Path:
        """A file for --command-config."""
        lines = [f"{name.replace('_', '.')}={escaped(v)}\n" for name, v in settings.items()]
        path.write_text("".join(lines))
        return path

    def client(
        self,
        path: Path,
        user: str = ADMIN,
        *,
        password: str | None = None,
        mechanism: str = "PLAIN",
        **more: str,
    ) -> Path:
        """A file for --command-config that says who a user is."""
        module = PLAIN if mechanism == "PLAIN" else SCRAM
        word = quoted(PASSWORDS[user] if password is None else password)
        return self.properties(
            path,
            security_protocol="SASL_SSL",
            sasl_mechanism=mechanism,
            sasl_jaas_config=f'{module} required username="{user}" password="{word}";',
            **({"ssl_truststore_location": str(self.ca)} | more),
        )


def quoted(word: str) -> str:
    """A password inside the quotes of a JAAS option."""
    return word.replace("\\", "\\\\").replace('"', '\\"')


def escaped(value: str) -> str:
    """A value in a properties file."""
    return value.replace("\\", "\\\\")


@contextlib.contextmanager
def secured(directory: Path, brokers: Iterable[int] = BROKERS) -> Generator[Secured]:
    """Certificates for the time of a test run, and a port for the listener of each broker."""
    for name in ("ca", "other-ca"):
        _openssl(
            directory,
            f"req -x509 -newkey rsa:2048 -nodes -keyout {name}.key -out {name}.pem -days 2 "
            f"-subj /CN=kedge-{name}",
        )
    _openssl(directory, "req -newkey rsa:2048 -nodes -keyout b.key -out b.csr -subj /CN=localhost")
    (directory / "ext").write_text("subjectAltName=DNS:localhost\n")
    _openssl(
        directory,
        "x509 -req -in b.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext "
        "-out b.crt",
    )
    chain = [(directory / name).read_text() for name in ("b.key", "b.crt", "ca.pem")]
    (directory / "broker.pem").write_text("".join(chain))
    yield Secured(directory, {broker: free_port() for broker in brokers})


def _openssl(directory: Path, arguments: str) -> None:
    subprocess.run(
        ["openssl", *arguments.split()], cwd=directory, check=True, capture_output=True, text=True
    )
