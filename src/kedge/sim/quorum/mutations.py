"""Nodes that violate one rule each, to test the checkers: a run with one must be caught."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from kedge.quorum.messages import VoteRequest
from kedge.quorum.node import Event, Node, Request
from kedge.quorum.roles import Leader, Prospective, Unattached
from kedge.quorum.values import Batch, EpochOffset


class Entry(NamedTuple):
    """A batch as the state machine above knows it; control batches have no records."""

    base: int
    end: int
    epoch: int
    records: tuple[object, ...]

    @classmethod
    def of(cls, batch: Batch) -> Entry:
        """A batch of the log."""
        return cls(batch.base, batch.last + 1, batch.epoch, tuple(batch.records))


class Mutation:
    """The base class, which changes nothing."""

    syncs = True

    def before(self, node: Node, event: Event) -> tuple[Node, Event]:
        """The node and the event to step instead."""
        return node, event

    def read(self, node: Node, applied: list[Entry]) -> list[Entry]:
        """The answer to a client's read."""
        del node
        return list(applied)


class VoteTwice(Mutation):
    """Forgets its vote as soon as another candidate asks."""

    def before(self, node: Node, event: Event) -> tuple[Node, Event]:
        role = node.role
        is_vote = isinstance(event, Request) and isinstance(event.message, VoteRequest)
        if is_vote and isinstance(role, Unattached | Prospective):
            node = replace(node, role=replace(role, voted=None))
        return node, event


class CommitWithoutMajority(Mutation):
    """Takes every voter to have what the leader has."""

    def before(self, node: Node, event: Event) -> tuple[Node, Event]:
        role = node.role
        if isinstance(role, Leader):
            end = node.log.end
            voters = {id_: replace(known, log_end=end) for id_, known in role.voters.items()}
            node = replace(node, role=replace(role, voters=voters))
        return node, event


class SkipSync(Mutation):
    """Acts on what is written but not synced."""

    syncs = False


class ReadUncommitted(Mutation):
    """Answers reads with all that is in the log."""

    def read(self, node: Node, applied: list[Entry]) -> list[Entry]:
        end = applied[-1].end if applied else node.log.start
        rest = node.log.read(end, max_bytes=2**62)
        return [*applied, *map(Entry.of, rest)]


class VoteForShorterLogs(Mutation):
    """Votes without a look at the candidate's log."""

    def before(self, node: Node, event: Event) -> tuple[Node, Event]:
        if isinstance(event, Request) and isinstance(event.message, VoteRequest):
            vote = event.message
            longest = EpochOffset(max(0, vote.epoch - 1), 2**62)
            event = event._replace(message=vote._replace(last=longest))
        return node, event


MUTATIONS: dict[str, type[Mutation]] = {
    "": Mutation,
    "vote_twice": VoteTwice,
    "commit_without_majority": CommitWithoutMajority,
    "skip_fsync": SkipSync,
    "read_uncommitted": ReadUncommitted,
    "vote_for_shorter_logs": VoteForShorterLogs,
}
