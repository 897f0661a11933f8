"""Snapshots of the simulated state machine as bytes: its entries, and the voters at its end."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from kedge.quorum.node import Node
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


def voters_at(node: Node, offset: int) -> VoterSet:
    """The voters of the log up to an offset, and of a snapshot that ends there."""
    known = [at.voters for at in node.voter_history if at.offset < offset]
    return known[-1] if known else node.static_voters


def _voter(parts: list[Any]) -> Voter:
    key, endpoints, low, high = parts
    listens = tuple(VoterEndpoint(*endpoint) for endpoint in endpoints)
    return Voter(ReplicaKey(*key), listens, low, high)
