"""The settings of a lab, their limits, and which of them may change at the next start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any

from kedge.errors import InvalidRequest, MalformedJson

MAX_SPEED = 1e9  # `--speed max`: lab time is not tied to the wall clock
BROKERS_MAX = 1_000
ID_MAX = 2**31 - 1
PORT_MAX = 65_535
CONTROLLERS = (1, 3)


class Traffic(StrEnum):
    """How producers distribute their writes over partitions."""

    NONE = "none"
    EVEN = "even"  # the same rate for every partition
    SKEWED = "skewed"  # by Zipf's law over topics, and by hot keys over partitions


@dataclass(frozen=True, slots=True)
class LabSettings:
    """Brokers, their hardware, the speed of lab time, and producer traffic."""

    brokers: int = 3
    racks: int = 1
    first_id: int = 0
    log_dirs: int = 2
    disk_bytes: int = 10**12  # per broker, over all its directories
    disk_rate: int = 200_000_000  # bytes per second and directory
    link_rate: int = 125_000_000  # bytes per second and direction
    speed: float = 1.0  # seconds of lab time per second
    traffic: Traffic = Traffic.NONE
    rate: int = 10_000_000  # bytes per second of all producers together
    session_timeout_ms: int = 6_000  # of lab time
    seed: int = 1
    host: str = "127.0.0.1"
    port: int = 0  # of the first broker; 0 chooses free ports
    partitions: int = 1  # num.partitions
    replication_factor: int = 1  # default.replication.factor
    auto_create: bool = True
    kraft: bool = False  # KRaft mode; without it ZooKeeper mode
    controllers: int = 1  # in KRaft mode
    sasl_users: str = ""  # path of the users file; empty: no authentication

    def __post_init__(self) -> None:
        _between("brokers", self.brokers, 1, BROKERS_MAX)
        _between("racks", self.racks, 1, BROKERS_MAX)
        if self.brokers < self.racks:
            raise InvalidRequest(
                f"{self.brokers} brokers cannot be on {self.racks} racks",
                hint="use at least one broker per rack",
            )
        _between("the first id", self.first_id, 0, ID_MAX - self.brokers + 1)
        _between("log directories", self.log_dirs, 1, 64)
        _between("the disk's bytes", self.disk_bytes, 1_000_000, 2**60)
        _between("the disk's bytes per second", self.disk_rate, 1_000, 10**13)
        _between("the link's bytes per second", self.link_rate, 1_000, 10**13)
        _between("the speed", self.speed, 0.01, MAX_SPEED)
        _between("the rate", self.rate, 0, 10**13)
        _between("the session timeout", self.session_timeout_ms, 100, 3_600_000)
        _between("the port", self.port, 0, PORT_MAX - (self.brokers - 1 if self.port else 0))
        _between("partitions", self.partitions, 1, 200_000)
        if self.controllers not in CONTROLLERS:
            raise InvalidRequest(f"{self.controllers} controllers", hint="use 1 or 3")
        if self.controllers > 1 and not self.kraft:
            raise InvalidRequest(
                "in ZooKeeper mode every broker is a controller candidate",
                hint="leave --controllers out, or use --kraft",
            )
        _between("the replication factor", self.replication_factor, 1, self.brokers)
        if not self.host or not self.host.isprintable() or " " in self.host:
            raise InvalidRequest(
                f"{self.host!r} is not a host name", hint="name one, such as 127.0.0.1"
            )

    @property
    def is_max_speed(self) -> bool:
        """Whether lab time runs as fast as it can be computed."""
        return self.speed >= MAX_SPEED

    @property
    def protocol(self) -> str:
        """The security protocol of the brokers' listeners."""
        return "SASL_PLAINTEXT" if self.sasl_users else "PLAINTEXT"

    @property
    def ids(self) -> range:
        """The brokers' ids."""
        return range(self.first_id, self.first_id + self.brokers)

    def rack_of(self, broker: int) -> str:
        """Racks r0, r1, … in turn."""
        return f"r{(broker - self.first_id) % self.racks}"

    def as_json(self) -> dict[str, Any]:
        """The settings as stored in the lab's directory."""
        return asdict(self)


# settings that may change at the next start; the stored data depend on the others
CHANGEABLE = frozenset(
    (
        *("speed", "traffic", "rate", "session_timeout_ms", "auto_create"),
        *("disk_rate", "link_rate", "sasl_users"),
    )
)


ALSO_STORED_AS: dict[type[object], type[object]] = {float: int, Traffic: str}


def settings_from(found: Mapping[str, Any]) -> LabSettings:
    """Settings from the JSON of a lab's directory."""
    known = {field.name for field in fields(LabSettings)}
    try:
        chosen = {name: value for name, value in found.items() if name in known}
        _check_types(chosen)
        chosen["traffic"] = Traffic(chosen.get("traffic", "none"))
        return LabSettings(**chosen)
    except (TypeError, ValueError, AttributeError) as fault:
        raise MalformedJson(f"invalid settings: {fault}") from fault


def _check_types(chosen: Mapping[str, Any]) -> None:
    """TypeError unless each value has the type of its default; an int may stand for a float."""
    for name, value in chosen.items():
        default: object = getattr(LabSettings(), name)
        kind: type[object] = type(default)
        if type(value) not in (kind, ALSO_STORED_AS.get(kind, kind)):
            raise TypeError(f"{name} is {value!r}")


def updated_settings(stored: LabSettings, requested: Mapping[str, Any]) -> LabSettings:
    """Stored settings with the changes requested at a start; brokers may be added."""
    for name, value in requested.items():
        before = getattr(stored, name)
        grown = name == "brokers" and value > before
        if value != before and name not in CHANGEABLE and not grown:
            raise InvalidRequest(
                f"this lab was created with {name.replace('_', ' ')} {before}, not {value}",
                hint="leave that option out, or name another directory",
            )
    return replace(stored, **requested)


def parse_speed(text: str) -> float:
    """`1`, `60` or `max`."""
    if text.strip().lower() == "max":
        return MAX_SPEED
    try:
        return float(text.strip().rstrip("x"))
    except ValueError:
        hint = "write 1, 60 or max"
        raise InvalidRequest(f"speed {text!r} is not a number", hint=hint) from None


def _between(what: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # also rejects NaN
        raise InvalidRequest(f"{what} can be {low:,} to {high:,}, not {value:,}")
