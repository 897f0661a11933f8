"""The quota for changes of topics per client (KIP-599): a token bucket that refills with time.

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

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from kedge.errors import QuotaExceeded

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
    """The buckets of all clients, by client id."""

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
