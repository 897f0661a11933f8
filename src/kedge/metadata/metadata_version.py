"""metadata.version: which records and fields a cluster may write.

Levels have names like `3.9-IV0`. What a level adds is asked by name, so that no other module
compares numbers.
"""

from __future__ import annotations

FEATURE = "metadata.version"

_NAMES = {
    7: "3.3-IV3",
    8: "3.4-IV0",
    9: "3.5-IV0",
    10: "3.5-IV1",
    11: "3.5-IV2",
    12: "3.6-IV0",
    13: "3.6-IV1",
    14: "3.6-IV2",
    15: "3.7-IV0",
    16: "3.7-IV1",
    17: "3.7-IV2",
    18: "3.7-IV3",
    19: "3.7-IV4",
    20: "3.8-IV0",
    21: "3.9-IV0",
    22: "4.0-IV0",
    23: "4.0-IV1",
    24: "4.0-IV2",
    25: "4.0-IV3",
    26: "4.1-IV0",
    27: "4.1-IV1",
}
_LEVELS = {name: level for level, name in _NAMES.items()}

MINIMUM = 7
LATEST = 27

# levels that changed the records: a cluster cannot go back beyond one without losing something
_CHANGED_RECORDS = frozenset({8, 11, 13, 14, 15, 17, 23})


def level_of(name: str) -> int | None:
    """The level of a name such as `4.1-IV1`; a release such as `4.1` is its last level."""
    found = [level for known, level in _LEVELS.items() if name in (known, known.split("-")[0])]
    return max(found, default=None)


def name_of(level: int) -> str:
    """The name of a level."""
    return _NAMES.get(level, str(level))


def has_scram(level: int) -> bool:
    """SCRAM credentials are records (3.5-IV2)."""
    return level >= 11


def bumps_leader_epoch_on_shrink(level: int) -> bool:
    """Each ISR shrink raises the leader epoch (before 3.6-IV0)."""
    return level < 12


def has_transactions(level: int) -> bool:
    """Bootstrap records are one transaction (3.6-IV1)."""
    return level >= 13


def has_delegation_tokens(level: int) -> bool:
    """Delegation tokens are records (3.6-IV2)."""
    return level >= 14


def has_controller_registration(level: int) -> bool:
    """Controllers register (3.7-IV0)."""
    return level >= 15


def has_directories(level: int) -> bool:
    """Replicas are assigned to directories (3.7-IV2, KIP-858)."""
    return level >= 17


def has_elr(level: int) -> bool:
    """Eligible leader replicas have fields (4.0-IV1, KIP-966)."""
    return level >= 23


def register_broker_version(level: int) -> int:
    """The version of RegisterBroker records."""
    if has_directories(level):
        return 3
    return 2 if level >= 8 else 1


def partition_version(level: int) -> int:
    """The version of Partition and PartitionChange records."""
    if has_elr(level):
        return 2
    return 1 if has_directories(level) else 0


def loses_records(current: int, target: int) -> bool:
    """Whether a downgrade goes back beyond a level that changed the records."""
    return any(target < level <= current for level in _CHANGED_RECORDS)
