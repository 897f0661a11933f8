"""Places to keep runs in, to try the contract on."""

from __future__ import annotations

import uuid
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Protocol

from kedge.apply import Runs, RunStore
from kedge.apply.cluster_runs import ClusterRuns
from kedge.apply.ownership import Timing
from kedge.cluster.access import PLAIN_ACCESS
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.kafka_log import KafkaLog
from kedge.cluster.lab_log import LabLog
from kedge.cluster.memory_log import MemoryLog, MemoryTopic
from kedge.lab import Lab, LabSettings

CLUSTER_ID = "contract"


class RunBackend(Protocol):
    """A place that several stores can be opened on, as several processes would."""

    def open(self) -> RunStore: ...

    def close(self) -> None: ...


class DirectoryBackend:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def open(self) -> Runs:
        return Runs(self._directory, CLUSTER_ID)

    def close(self) -> None:
        return None


class MemoryLogBackend:
    def __init__(self) -> None:
        self._topic = MemoryTopic()

    def open(self) -> ClusterRuns:
        timing = Timing(lease_s=1.0, renew_s=0.1, poll_s=0.01)
        return ClusterRuns(MemoryLog(self._topic), CLUSTER_ID, timing=timing)

    def close(self) -> None:
        return None


class LabBackend:
    """The store of a lab in this process."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._lab = self._open.enter_context(Lab.running(LabSettings(brokers=1)))

    def open(self) -> ClusterRuns:
        log = LabLog(self._lab.bootstrap_servers, PLAIN_ACCESS)
        timing = Timing(lease_s=1.0, renew_s=0.1, poll_s=0.01)
        store = ClusterRuns(log, CLUSTER_ID, timing=timing)
        return self._open.enter_context(closing(store))

    def close(self) -> None:
        self._open.close()


class KafkaBackend:
    """A topic of its own on a real cluster; the runs of commands are in another."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = KafkaAdmin(bootstrap)
        self._topic = f"runs-{uuid.uuid4().hex[:12]}"
        self._stores: list[ClusterRuns] = []

    def open(self) -> ClusterRuns:
        log = KafkaLog(self._admin, self._bootstrap, PLAIN_ACCESS, topic=self._topic)
        timing = Timing(lease_s=5.0, renew_s=0.5, poll_s=0.1)
        self._stores.append(ClusterRuns(log, CLUSTER_ID, timing=timing))
        return self._stores[-1]

    def close(self) -> None:
        for store in self._stores:
            store.close()
        self._admin.delete_topics([self._topic])
        self._admin.close()
