"""Snapshots of the simulated state machine as bytes: its entries, and the voters at its end."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from kedge.quorum.values import ReplicaKey, Voter, VoterEndpoint, VoterSet
from kedge.sim.quorum.mutations import Entry


class Snapshot(NamedTuple):
    """What a snapshot holds."""

    entries: list[Entry]
    voters: VoterSet


def encoded(entries: list[Entry], voters: VoterSet) -> bytes:
    """A snapshot as bytes."""
    return json.dumps([entries, voters.all]).encode()


def decoded(data: bytes) -> Snapshot:
    """The snapshot that bytes hold."""
    entries, voters = json.loads(data)
    return Snapshot(
        [Entry(base, end, epoch, tuple(records)) for base, end, epoch, records in entries],
        VoterSet(map(_voter, voters)),
    )


def _voter(parts: list[Any]) -> Voter:
    key, endpoints, low, high = parts
    listens = tuple(VoterEndpoint(*endpoint) for endpoint in endpoints)
    return Voter(ReplicaKey(*key), listens, low, high)
