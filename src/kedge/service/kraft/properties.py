"""`server.properties` of a controller, with Kafka's own names and defaults."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kedge.cluster.properties import parse_properties
from kedge.errors import InvalidConfiguration
from kedge.kraft import ControllerConfig
from kedge.metadata import Periods, Settings
from kedge.metadata.records import Endpoint
from kedge.metadata_log import MetaProperties
from kedge.quorum.values import QuorumConfig, ReplicaKey, Voter, VoterEndpoint, VoterSet
from kedge.service.kraft.security import PLAINTEXT, ListenerSecurity, security_of

_ANY_HOST = "0.0.0.0"
_FIRST_BOOTSTRAP_ID = -2  # ids of bootstrap servers, whose node ids are not known


def read_properties(path: Path) -> ServerProperties:
    """The configuration in a file; InvalidConfiguration says what is wrong with it."""
    try:
        text = path.read_text()
    except OSError as problem:
        raise InvalidConfiguration(f"{path} cannot be read: {problem.strerror}") from None
    return ServerProperties.of({k: v.strip() for k, v in parse_properties(text).items()})


@dataclass(frozen=True, slots=True)
class ServerProperties:
    """The configuration of one controller."""

    values: Mapping[str, str]
    node_id: int
    directory: Path
    listener: VoterEndpoint
    advertised: VoterEndpoint
    voters: VoterSet
    bootstrap: Mapping[int, tuple[str, int]]
    security: ListenerSecurity = PLAINTEXT

    @classmethod
    def of(cls, values: Mapping[str, str]) -> ServerProperties:
        """Check and understand properties."""
        _refuse_unsupported(values)
        node_id = _number(values, "node.id", None)
        listener = _listener(values, "listeners")
        advertised = listener
        if advertised.host == _ANY_HOST:
            advertised = advertised._replace(host=socket.getfqdn())
        if "advertised.listeners" in values:
            advertised = _listener(values, "advertised.listeners")
        voters = _voters(values, listener.listener)
        servers = [_address(part) for part in _parts(values, "controller.quorum.bootstrap.servers")]
        bootstrap = {_FIRST_BOOTSTRAP_ID - at: server for at, server in enumerate(servers)}
        if not len(voters) and not bootstrap:
            raise InvalidConfiguration(
                "neither controller.quorum.voters nor controller.quorum.bootstrap.servers is set"
            )
        directory = values.get("metadata.log.dir") or next(_parts(values, "log.dirs"), None)
        if directory is None:
            raise InvalidConfiguration("log.dirs is not set")
        security = security_of(values, listener.listener)
        return cls(
            values, node_id, Path(directory), listener, advertised, voters, bootstrap, security
        )

    def number(self, name: str, default: int) -> int:
        """A whole number."""
        return _number(self.values, name, default)

    # ---- for the core ----------------------------------------------------------------------------

    def controller(
        self, meta: MetaProperties, features: Mapping[str, int], incarnation: str
    ) -> ControllerConfig:
        """The settings of the controller without I/O."""
        at = self.advertised
        session_ms = self.number("broker.session.timeout.ms", 9_000)
        return ControllerConfig(
            self._quorum(meta),
            Settings(
                self.node_id,
                meta.cluster_id,
                voters=self.voters.ids or (self.node_id,),
                default_replication_factor=self.number("default.replication.factor", 1),
                default_partitions=self.number("num.partitions", 1),
                session_ms=session_ms,
                static=self.values,
                bootstrap=features,
            ),
            self._periods(session_ms),
            incarnation,
            (Endpoint(at.listener, at.host, at.port, self.security.number),),
            self.number("metadata.log.max.record.bytes.between.snapshots", 20 << 20),
            self.number("metadata.log.max.snapshot.interval.ms", 3_600_000) or None,
            self.number("metadata.max.retention.bytes", 100 << 20),
            self._retention_ms(),
        )

    def _retention_ms(self) -> int | None:
        retention = self.number("metadata.max.retention.ms", 7 * 24 * 3_600_000)
        return retention if retention >= 0 else None

    def _quorum(self, meta: MetaProperties) -> QuorumConfig:
        others = tuple(voter for voter in self.voters.ids if voter != self.node_id)
        return QuorumConfig(
            self.node_id,
            meta.directory_id,
            meta.cluster_id,
            (self.advertised,),
            self.listener.listener,
            tuple(self.bootstrap) or others,
            election_timeout_ms=self.number("controller.quorum.election.timeout.ms", 1_000),
            election_backoff_max_ms=self.number("controller.quorum.election.backoff.max.ms", 1_000),
            fetch_timeout_ms=self.number("controller.quorum.fetch.timeout.ms", 2_000),
            request_timeout_ms=self.number("controller.quorum.request.timeout.ms", 2_000),
            retry_backoff_ms=self.number("controller.quorum.retry.backoff.ms", 20),
            append_linger_ms=self.number("controller.quorum.append.linger.ms", 25),
        )

    def _periods(self, session_ms: int) -> Periods:
        balances = self.values.get("auto.leader.rebalance.enable", "true").lower() != "false"
        every = self.number("leader.imbalance.check.interval.seconds", 300) * 1_000
        idle = self.number("metadata.max.idle.interval.ms", 500)
        return Periods(
            no_op_ms=idle or None, session_ms=session_ms, preferred_ms=every if balances else None
        )


def _refuse_unsupported(values: Mapping[str, str]) -> None:
    if values.get("process.roles", "controller") != "controller":
        raise InvalidConfiguration(
            f"process.roles is {values['process.roles']!r}",
            hint="Kedge is a controller; brokers are Kafka's: process.roles=controller",
        )
    if values.get("authorizer.class.name"):
        raise InvalidConfiguration(
            "authorizer.class.name is set, and Kedge's controller checks no rights",
            hint="requests of clients would be carried out unchecked: remove it, or use Kafka's",
        )


def _listener(values: Mapping[str, str], name: str) -> VoterEndpoint:
    """The listener of controllers."""
    names = next(_parts(values, "controller.listener.names"), None)
    if names is None:
        raise InvalidConfiguration("controller.listener.names is not set", hint="as in CONTROLLER")
    for part in _parts(values, name):
        listener, _, address = part.partition("://")
        if listener == names:
            host, port = _address(address)
            return VoterEndpoint(listener, host or _ANY_HOST, port)
    raise InvalidConfiguration(f"{name} has no listener {names}")


def _voters(values: Mapping[str, str], listener: str) -> VoterSet:
    voters: list[Voter] = []
    for part in _parts(values, "controller.quorum.voters"):
        number, at, address = part.partition("@")
        if not at or not number.isdigit():
            raise InvalidConfiguration(
                f"{part!r} in controller.quorum.voters", hint="as in 3001@127.0.0.1:9093"
            )
        host, port = _address(address)
        voters.append(Voter(ReplicaKey(int(number)), (VoterEndpoint(listener, host, port),)))
    return VoterSet(voters)


def _parts(values: Mapping[str, str], name: str) -> Iterator[str]:
    return (part.strip() for part in values.get(name, "").split(",") if part.strip())


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65_535:
        raise InvalidConfiguration(f"{text!r} is not an address", hint="as in 127.0.0.1:9093")
    return host.strip("[]"), int(port)


def _number(values: Mapping[str, str], name: str, default: int | None) -> int:
    text = values.get(name)
    if text is None and default is not None:
        return default
    try:
        return int(text or "")
    except ValueError:
        raise InvalidConfiguration(f"{name} is {text!r}", hint="a whole number") from None
