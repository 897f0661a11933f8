"""Options of a controller process, and how they are parsed."""

from __future__ import annotations

from dataclasses import dataclass

from kedge.brokers.wire_forms import Address
from kedge.controller.settings import Ibp
from kedge.errors import InvalidConfiguration, InvalidRequest
from kedge.model import BrokerId

ID = BrokerId(1000)
OLDEST_IBP = Ibp((2, 6), 0)
_OLDEST_TEXT = "2.6"


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one controller process.

    `take_over` takes the role from any broker that holds it, now and later; without it the
    controller waits until the role is vacant. Without `protocol` the brokers' own is used.
    """

    zookeeper: str
    listen: Address
    id: BrokerId = ID
    take_over: bool = False
    protocol: Ibp | None = None
    session_timeout_ms: int = 6_000
    metrics: Address | None = None
    listener: str | None = None
    prepare_internal_topics: bool = True


def parse_address(text: str) -> Address:
    """`HOST:PORT`; port 0 is any free one."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65_535:
        raise InvalidRequest(f"{text!r} is not an address", hint="as in 127.0.0.1:9090")
    return Address(host.strip("[]"), int(port))


def parse_protocol(text: str) -> Ibp:
    """An inter-broker protocol version that Kedge can write."""
    return supported_protocol(Ibp.parse(text))


def supported_protocol(protocol: Ibp) -> Ibp:
    """The given version; raises InvalidConfiguration for one that Kedge cannot write."""
    if protocol < OLDEST_IBP:
        raise InvalidConfiguration(
            f"inter-broker protocol {protocol} is older than {_OLDEST_TEXT}",
            hint="raise inter.broker.protocol.version on the brokers first",
        )
    return protocol
