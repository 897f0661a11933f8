"""Topic names: which are valid, which collide, and which are internal to Kafka."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from kedge.errors import InvalidRequest, InvalidTopic

LENGTH_MAX = 249
LEGAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
INTERNAL = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})

# KRaft stores its own log under this name, so it cannot be created on any cluster.
CLUSTER_METADATA = "__cluster_metadata"


def validate_name(name: str) -> None:
    """Refuse a name that no topic can have."""
    if not name:
        raise InvalidTopic("the topic name is empty")
    if name in (".", ".."):
        raise InvalidTopic(f"a topic cannot be named {name!r}")
    if len(name) > LENGTH_MAX:
        raise InvalidTopic(
            f"the topic name has {len(name)} characters", hint=f"use at most {LENGTH_MAX}"
        )
    if wrong := sorted(set(name) - LEGAL):
        raise InvalidTopic(
            f"topic name {name!r} contains {' '.join(map(repr, wrong))}",
            hint="use ASCII letters, digits, '.', '_' and '-'",
        )


def is_valid_name(name: str) -> bool:
    """Whether a topic can have this name."""
    return 0 < len(name) <= LENGTH_MAX and name not in (".", "..") and LEGAL.issuperset(name)


def is_internal(name: str) -> bool:
    """Whether the topic is internal to Kafka."""
    return name in INTERNAL


def has_collision_chars(name: str) -> bool:
    """Whether the name has a character that metric names do not distinguish."""
    return "." in name or "_" in name


def collides(one: str, other: str) -> bool:
    """Whether two names become the same metric name, where '.' turns into '_'."""
    return _metric_name(one) == _metric_name(other)


class TopicNames(Collection[str]):
    """A set of names, indexed by the metric names that they become."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_metric_name: dict[str, set[str]] = {}
        self._count = 0
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        """Add a name."""
        alike = self._by_metric_name.setdefault(_metric_name(name), set())
        self._count += name not in alike
        alike.add(name)

    def like(self, name: str) -> set[str]:
        """The names with the same metric name, itself included."""
        return self._by_metric_name.get(_metric_name(name), set())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.like(name)

    def __iter__(self) -> Iterator[str]:
        return (name for alike in self._by_metric_name.values() for name in alike)

    def __len__(self) -> int:
        return self._count


def colliding(name: str, others: Iterable[str]) -> list[str]:
    """Those of the others that the name collides with, sorted."""
    if not has_collision_chars(name):
        return []
    if isinstance(others, TopicNames):
        return sorted(others.like(name))
    mine = _metric_name(name)
    return sorted(other for other in others if _metric_name(other) == mine)


def refuse_collision(name: str, others: Iterable[str]) -> None:
    """Refuse a name that becomes the same metric name as another topic's."""
    if found := colliding(name, others):
        raise InvalidTopic(
            f"topic {name!r} collides with {', '.join(found)}",
            hint="'.' and '_' are the same character in metric names; use another name",
        )


def refuse_reserved(name: str) -> None:
    """Refuse to create the topic of the cluster itself."""
    if name == CLUSTER_METADATA:
        raise InvalidRequest(f"topic {name} is internal and cannot be created")


def _metric_name(name: str) -> str:
    return name.replace(".", "_")
