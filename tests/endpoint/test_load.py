"""Many clients at once: no error, no leak, nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections import Counter

from tests.endpoint.endpoint_cluster import EndpointCluster, endpoint_cluster
from tests.endpoint.load import CLIENTS, PER_ROUND, ROUNDS, resident_bytes, work


def all_at_once(cluster: EndpointCluster, rounds: int) -> Counter[int]:
    async def everybody() -> list[Counter[int]]:
        return await asyncio.gather(*(work(cluster, n, rounds) for n in range(CLIENTS)))

    return sum(asyncio.run(everybody()), Counter[int]())


def test_fifty_clients_with_two_hundred_requests_each() -> None:
    with endpoint_cluster() as cluster:
        assert all_at_once(cluster, 1) == {0: CLIENTS * PER_ROUND}
        threads, before = threading.active_count(), settled(cluster)
        assert all_at_once(cluster, ROUNDS - 1) == {0: CLIENTS * (ROUNDS - 1) * PER_ROUND}
        after = settled(cluster)
        assert threading.active_count() == threads
        assert after - before < 16 << 20
        assert cluster.children("/brokers/topics") == ()
        assert cluster.images.cache(cluster.controller).topics == {}


def settled(cluster: EndpointCluster) -> int:
    """What the process takes once all is done; the recorder's memory does not count."""
    cluster.until(lambda: cluster.endpoint.endpoint.traffic.connections_open == 0)
    cluster.until(lambda: cluster.children("/brokers/topics") == ())
    cluster.recorder.sent.clear()
    gc.collect()
    return resident_bytes()
