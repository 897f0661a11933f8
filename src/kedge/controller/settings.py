"""The operator's settings that the controller uses, and what the protocol version implies.

The inter-broker protocol version ("IBP") names the oldest release whose requests the brokers must
support. Request versions, topic ids and the handling of ISR changes all follow from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

from kedge.errors import InvalidConfiguration

_LATEST_REVISION = 99  # "2.7" means the last protocol revision of 2.7
_FORM = re.compile(r"(\d+(?:\.\d+)+)(?:-IV(\d+))?")


@total_ordering
@dataclass(frozen=True, slots=True)
class Ibp:
    """An inter-broker protocol version such as 2.6, 2.7-IV2 or 0.10.2."""

    release: tuple[int, ...]
    revision: int = _LATEST_REVISION

    @staticmethod
    def parse(text: str) -> Ibp:
        """Parse `2.7`, `2.7-IV2` or `2.7.1` (patch releases have the protocol of their line)."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise InvalidConfiguration(
                f"inter-broker protocol version {text!r} is not a release",
                hint="write it as 3.9 or 2.7-IV2",
            )
        numbers = tuple(int(part) for part in found[1].split("."))
        revision = _LATEST_REVISION if found[2] is None else int(found[2])
        return Ibp(numbers[: 3 if numbers[0] == 0 else 2], revision)

    def __lt__(self, other: Ibp) -> bool:
        return (self.release, self.revision) < (other.release, other.revision)

    def __str__(self) -> str:
        text = ".".join(map(str, self.release))
        return text if self.revision == _LATEST_REVISION else f"{text}-IV{self.revision}"


def _since(text: str) -> Ibp:
    return Ibp.parse(text)


_BY_IBP = [
    (_since("3.4-IV0"), (7, 4, 8)),
    (_since("3.2-IV0"), (6, 3, 7)),
    (_since("2.8-IV1"), (5, 3, 7)),
    (_since("2.6-IV0"), (4, 3, 6)),
    (_since("2.4-IV1"), (4, 2, 6)),
    (_since("2.4-IV0"), (3, 1, 5)),
    (_since("2.2-IV0"), (2, 1, 5)),
    (_since("1.0-IV0"), (1, 0, 4)),
    (_since("0.10.2-IV0"), (0, 0, 3)),
    (_since("0.10.0-IV1"), (0, 0, 2)),
    (_since("0.9.0-IV0"), (0, 0, 1)),
]


@dataclass(frozen=True, slots=True)
class RequestVersions:
    """The versions of the three requests that a controller sends."""

    leader_and_isr: int
    stop_replica: int
    update_metadata: int


def request_versions(ibp: Ibp) -> RequestVersions:
    """Return the versions that brokers of this protocol support."""
    numbers = next((versions for since, versions in _BY_IBP if ibp >= since), (0, 0, 0))
    return RequestVersions(*numbers)


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration of the controller."""

    ibp: Ibp = Ibp((3, 9))
    delete_topics: bool = True  # delete.topic.enable
    auto_rebalance: bool = True  # auto.leader.rebalance.enable
    imbalance_percentage_max: int = 10  # leader.imbalance.per.broker.percentage
    imbalance_check_seconds: int = 300  # leader.imbalance.check.interval.seconds
    unclean_elections: bool = False  # unclean.leader.election.enable, for topics without their own
    take_over: bool = False  # take the role from a broker that holds it
    safer: bool = True  # than Kafka, where it loses data or hangs (docs/concepts/differences.md)

    @property
    def uses_topic_ids(self) -> bool:
        """Whether every topic gets an id (KIP-516)."""
        return self.ibp >= _since("2.8-IV0")

    @property
    def uses_alter_partition(self) -> bool:
        """Whether leaders request ISR changes (KIP-497) or write them to the store."""
        return self.ibp >= _since("2.7-IV2")

    @property
    def marks_recovery(self) -> bool:
        """Whether an unclean leader is marked as recovering (KIP-704)."""
        return self.ibp >= _since("3.2-IV0")

    @property
    def versions_features(self) -> bool:
        """Whether the feature node is enabled (KIP-584)."""
        return self.ibp >= _since("2.7-IV0")

    @property
    def feature_record_version(self) -> int:
        """The version of the feature record: levels lost their minimum later (KIP-584)."""
        return 2 if self.ibp >= _since("3.3-IV0") else 1
