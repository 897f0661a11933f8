"""Limits on what clients can cost the endpoint: connections, memory, time, and changes of topics.

The quota for changes of topics per client (KIP-599) is a token bucket that refills with time.
Every partition created or deleted takes a token. A request is accepted while the bucket is not
overdrawn, and may overdraw it, so one larger than the bucket is accepted too. Clients that know the
quota (strict) are refused while the bucket is overdrawn; older ones are served, and their next
request is read only after a pause.

    rate 5 per second, bucket 55        tokens     answer
    create 60 partitions                55 → -5    done
    create 1, at once                   -5         refused, try again in 1000 ms
    create 1, a second later             0 → -1    done
"""

from __future__ import annotations

import resource
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from kedge.errors import QuotaExceeded
from kedge.protocol import FRAME_BYTES_MAX

CONNECTIONS_MAX = 1000
_FREE_BYTES = 64 << 10  # frames up to this size are not counted
_FILES_RESERVED = 64  # descriptors that the process needs besides connections
_CONNECTIONS_MIN = 8


def connections_for(files_max: int, listeners: int) -> int:
    """How many connections fit under a limit on open files, beside the process's own files."""
    if files_max == resource.RLIM_INFINITY:
        return CONNECTIONS_MAX
    reserved = min(_FILES_RESERVED, files_max // 2) + listeners
    return max(_CONNECTIONS_MIN, min(CONNECTIONS_MAX, files_max - reserved))


def process_files_max() -> int:
    """The limit on open files of this process (RLIMIT_NOFILE)."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one endpoint, over all of its nodes together."""

    frame_bytes_max: int = FRAME_BYTES_MAX
    connections_max: int | None = None  # None: what the limit on open files leaves, at most 1,000
    buffered_bytes_max: int = 128 << 20  # of large frames that are being read or answered
    idle_s: float = 600.0  # connections.max.idle.ms
    frame_s: float = 30.0  # from a frame's first byte to its last, and for reading an answer
    throttle_s_max: float = 30.0  # longest pause in reading from a client
    disconnect_check_s: float = 0.2  # how often a waiting request checks for its client
    accept_retry_s: float = 0.5  # after a connection found no free descriptor

    def connections(self, listeners: int) -> int:
        """How many connections may be open now."""
        if self.connections_max is not None:
            return self.connections_max
        return connections_for(process_files_max(), listeners)


class Buffered:
    """The bytes of one large frame, while it is read and answered."""

    __slots__ = ("evict", "size")

    def __init__(self, evict: Callable[[], None]) -> None:
        self.size = 0
        self.evict = evict


class ByteBudget:
    """Memory for large frames, counted as their bytes arrive. When it is used up, the frame that
    has made no progress for longest is evicted: a stalled client cannot delay another."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._used = 0
        self._arriving: OrderedDict[Buffered, None] = OrderedDict()

    def begin(self, evict: Callable[[], None]) -> Buffered:
        """Count a frame that begins to arrive; `evict` closes its connection."""
        frame = Buffered(evict)
        self._arriving[frame] = None
        return frame

    def add(self, frame: Buffered, size: int) -> None:
        """Count more bytes of a frame. Raises ConnectionResetError if it was evicted."""
        if frame not in self._arriving:
            raise ConnectionResetError("the frame was evicted")
        frame.size += size
        self._used += size
        self._arriving.move_to_end(frame)
        while self._used > self._bytes_max:
            stalled = next(iter(self._arriving))
            self.end(stalled)
            if stalled is frame:
                raise ConnectionResetError("there is no room for the frame")
            stalled.evict()

    def arrived(self, frame: Buffered) -> None:
        """A frame is complete: it is not evicted any more."""
        self._arriving.pop(frame, None)

    def end(self, frame: Buffered) -> None:
        """A frame is answered, or evicted."""
        self._arriving.pop(frame, None)
        self._used -= frame.size
        frame.size = 0


def is_counted(size: int) -> bool:
    """Whether a frame of this size is counted."""
    return size > _FREE_BYTES


# ---- the quota for changes of topics -------------------------------------------------------------

CLIENTS_MAX = 10_000  # with a bucket; the one idle for longest is forgotten


@dataclass(frozen=True, slots=True)
class QuotaSettings:
    """Partitions per second, None for no limit; the bucket holds `samples` windows of it."""

    rate_per_second: float | None = None
    samples: int = 11  # controller.quota.window.num
    window_s: float = 1.0  # controller.quota.window.size.seconds

    @property
    def burst(self) -> float:
        """The tokens of a full bucket."""
        return (self.rate_per_second or 0) * self.samples * self.window_s


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at_s: float


class MutationQuota:
    """The token buckets of all clients, by client id."""

    def __init__(self, settings: QuotaSettings, now_s: Callable[[], float]) -> None:
        self._settings = settings
        self._now_s = now_s
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def charge_for(self, client: str | None, *, strict: bool) -> Charge:
        """The charge of one request."""
        return Charge(self, client or "", strict=strict)

    def take(self, client: str, permits: int, *, strict: bool) -> float:
        """Take tokens; how many seconds the client should wait. A strict client that must wait has
        taken none."""
        rate = self._settings.rate_per_second
        if rate is None:
            return 0
        bucket = self._refilled(client, rate)
        if strict and bucket.tokens < 0:
            return -bucket.tokens / rate
        bucket.tokens -= permits
        return 0 if strict else max(0, -bucket.tokens / rate)

    def _refilled(self, client: str, rate: float) -> _Bucket:
        now, burst = self._now_s(), self._settings.burst
        bucket = self._buckets.setdefault(client, _Bucket(burst, now))
        self._buckets.move_to_end(client)
        if len(self._buckets) > CLIENTS_MAX:
            self._buckets.popitem(last=False)
        bucket.tokens = min(burst, bucket.tokens + (now - bucket.at_s) * rate)
        bucket.at_s = now
        return bucket


class Charge:
    """What one request takes from its client's bucket, topic by topic."""

    def __init__(self, quota: MutationQuota, client: str, *, strict: bool) -> None:
        self._quota = quota
        self._client = client
        self._strict = strict
        self.throttle_ms = 0

    def __call__(self, permits: int) -> None:
        """Take tokens for a change, or QuotaExceeded: then nothing was taken."""
        wait_s = self._quota.take(self._client, permits, strict=self._strict)
        if wait_s > 0:
            self.throttle_ms = max(self.throttle_ms, ceil(wait_s * 1000))
            if self._strict:
                raise QuotaExceeded(
                    "too many partitions were created or deleted",
                    hint=f"try again in {self.throttle_ms} ms",
                )
