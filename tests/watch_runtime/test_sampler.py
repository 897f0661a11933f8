"""What the loop observes of a cluster beside its snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import LogDirDescription, TopicCreation
from kedge.errors import KedgeError, LogDirNotFound
from kedge.execution.health import OfflineLogDir
from kedge.model import Broker, BrokerId, Snapshot
from kedge.watch.samples import sample_of
from kedge.watch_runtime.sampler import observed

ONE, TWO = BrokerId(1), BrokerId(2)


class BrokenDisk(MemoryCluster):
    """Broker 2 has a directory that it cannot use."""

    def log_dirs(
        self, brokers: Sequence[BrokerId], topics: Sequence[str] | None = None
    ) -> dict[BrokerId, tuple[LogDirDescription, ...] | KedgeError]:
        found = dict(super().log_dirs(brokers, topics))
        fault = LogDirNotFound("the directory is offline")
        return found | {TWO: (LogDirDescription("/data/broken", error=fault),)}


def _cluster(kind: type[MemoryCluster]) -> MemoryCluster:
    cluster = kind([Broker(ONE), Broker(TWO)])
    cluster.create_topics([TopicCreation("orders", assignment={0: [ONE], 1: [ONE]})])
    return cluster


def test_directories_that_a_live_broker_cannot_use_are_observed() -> None:
    assert observed(_cluster(MemoryCluster), 5.0, lambda taken: taken).offline_log_dirs == ()
    found = observed(_cluster(BrokenDisk), 5.0, lambda taken: taken)
    assert found.offline_log_dirs == (OfflineLogDir("/data/broken", TWO),)


def test_samples_have_the_rates_that_are_put_on_the_snapshot() -> None:
    def loaded(taken: Snapshot) -> Snapshot:
        rates = np.array([100.0, 20.0])
        return replace(taken, bytes_in=rates, bytes_out=2 * rates)

    sample = sample_of(observed(_cluster(MemoryCluster), 5.0, loaded))
    broker = sample.broker(ONE)
    assert broker is not None
    assert (broker.bytes_in, broker.bytes_out) == (120.0, 240.0)
