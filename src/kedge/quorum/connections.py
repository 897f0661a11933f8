"""Which requests are under way, per peer: one at a time, with a timeout and a pause after failures.

A response counts only while it answers the newest request to that peer. Every change of state
forgets all of them, so that no response to an older self of the node is acted on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias


class Connection(NamedTuple):
    """The newest request to a peer; `failed_ms` once it has failed."""

    correlation: int | None
    sent_ms: int
    failed_ms: int | None = None


Connections: TypeAlias = Mapping[int, Connection]


class Timeouts(NamedTuple):
    """How long a request may take, and how long a failed peer is left alone."""

    request_ms: int
    backoff_ms: int


def is_backing_off(connections: Connections, peer: int, now: int, timeouts: Timeouts) -> bool:
    """Whether the last request to the peer failed a moment ago."""
    known = connections.get(peer)
    return known is not None and _backs_off(known, now, timeouts)


def is_ready(connections: Connections, peer: int, now: int, timeouts: Timeouts) -> bool:
    """Whether a request may be sent to the peer."""
    known = connections.get(peer)
    return known is None or not (
        _backs_off(known, now, timeouts) or _in_flight(known, now, timeouts)
    )


def has_timed_out(connections: Connections, peer: int, now: int, timeouts: Timeouts) -> bool:
    """Whether a request to the peer is unanswered for too long."""
    known = connections.get(peer)
    return known is not None and known.failed_ms is None and not _in_flight(known, now, timeouts)


def without_finished(connections: Connections, now: int, timeouts: Timeouts) -> Connections:
    """The connections up to the first request in flight, without those that are over."""
    kept = dict(connections)
    for peer, known in sorted(connections.items()):
        if _in_flight(known, now, timeouts):
            break
        if not _backs_off(known, now, timeouts):
            del kept[peer]
    return kept if len(kept) < len(connections) else connections


def has_any_in_flight(connections: Connections, now: int, timeouts: Timeouts) -> bool:
    """Whether any request is under way."""
    return any(_in_flight(known, now, timeouts) for known in connections.values())


def is_expected(connections: Connections, peer: int, correlation: int) -> bool:
    """Whether a response answers the newest request to the peer."""
    known = connections.get(peer)
    return known is not None and known.correlation == correlation


def next_deadline(connections: Connections, now: int, timeouts: Timeouts) -> int | None:
    """When the first of the connections becomes ready again."""
    ends = (
        known.sent_ms + timeouts.request_ms
        if known.failed_ms is None
        else known.failed_ms + timeouts.backoff_ms
        for known in connections.values()
    )
    return min((end for end in ends if end > now), default=None)


def _backs_off(known: Connection, now: int, timeouts: Timeouts) -> bool:
    return known.failed_ms is not None and now < known.failed_ms + timeouts.backoff_ms


def _in_flight(known: Connection, now: int, timeouts: Timeouts) -> bool:
    return known.failed_ms is None and now < known.sent_ms + timeouts.request_ms
