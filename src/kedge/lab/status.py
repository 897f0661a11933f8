"""Reports the state of a lab as JSON-like values: brokers, controller, partitions, moves."""

from __future__ import annotations

from typing import Any

from kedge.lab.fault_injection import FaultInjector
from kedge.lab.lab_cluster import LabCluster
from kedge.lab.log_dirs import LogDirs
from kedge.lab.metrics_sampler import utc_text
from kedge.lab.traffic_generator import TrafficGenerator
from kedge.model import NO_LEADER, BrokerId, ReplicaAssignment, TopicPartition


class StatusReporter:
    """Reads the state of all components. For the lab's thread."""

    def __init__(
        self,
        cluster: LabCluster,
        traffic: TrafficGenerator,
        log_dirs: LogDirs,
        faults: FaultInjector,
        epoch_ms: int,
    ) -> None:
        self._cluster = cluster
        self._traffic = traffic
        self._log_dirs = log_dirs
        self._faults = faults
        self._epoch_ms = epoch_ms

    def status(self) -> dict[str, Any]:
        """Brokers, controller, partitions, moves, faults, lab time."""
        cluster, metadata = self._cluster, self._cluster.metadata
        assigned = {tp: now for tp in metadata.partitions() if (now := metadata.assignment(tp))}
        behind = [tp for tp, now in assigned.items() if self._in_sync(tp) < len(now.replicas)]
        leaderless = [tp for tp in assigned if self._leader(tp) == NO_LEADER]
        return {
            "lab_time": utc_text(self._epoch_ms, cluster.clock.now_ms),
            "lab_ms": cluster.clock.now_ms,
            "speed": "max" if cluster.lab.is_max_speed else cluster.lab.speed,
            "traffic": cluster.lab.traffic.value,
            "controller": metadata.controller,
            "controller_epoch": metadata.epoch,
            "brokers": [self._broker(broker, assigned) for broker in sorted(cluster.machines)],
            "racks": sorted({cluster.lab.rack_of(broker) for broker in cluster.machines}),
            "topics": len(metadata.topics),
            "partitions": len(assigned),
            "under_replicated": len(behind),
            "offline": len(leaderless),
            "moves": [self._move(tp, now) for tp, now in assigned.items() if now.in_progress],
            "log_dir_moves": self._log_dir_moves(),
            "slow_disks": {str(b): factor for b, factor in cluster.bandwidth.slowdown.items()},
            "cut_off": sorted(self._faults.cut_off),
            "failures": len(cluster.thread.failures),
        }

    def _in_sync(self, tp: TopicPartition) -> int:
        state = self._cluster.metadata.states.get(tp)
        return 0 if state is None else len(state.isr)

    def _leader(self, tp: TopicPartition) -> BrokerId:
        state = self._cluster.metadata.states.get(tp)
        return NO_LEADER if state is None else state.leader

    def _broker(
        self, broker: BrokerId, assigned: dict[TopicPartition, ReplicaAssignment]
    ) -> dict[str, Any]:
        machine = self._cluster.machines[broker]
        held = [tp for tp, now in assigned.items() if broker in now.replicas]
        return {
            "id": broker,
            "rack": self._cluster.lab.rack_of(broker),
            "up": machine.is_up,
            "port": machine.broker.endpoints[0].port,
            "replicas": len(held),
            "leaders": sum(self._leader(tp) == broker for tp in held),
            "size_bytes": sum(self._traffic.size_of(broker, tp) for tp in held),
            "failed_log_dirs": sorted(machine.disks.failed),
        }

    def _move(self, tp: TopicPartition, now: ReplicaAssignment) -> dict[str, Any]:
        leader = self._leader(tp)
        whole = self._traffic.size_of(leader, tp) if leader in self._cluster.machines else 0
        state = self._cluster.metadata.states.get(tp)
        arrived = [
            whole if state is not None and b in state.isr else self._traffic.size_of(b, tp)
            for b in now.adding
        ]
        wanted = whole * len(now.adding)
        done = min(sum(arrived) / wanted, 1.0) if wanted else 1.0
        return {
            "topic": tp.topic,
            "partition": tp.partition,
            "replicas": list(now.replicas),
            "adding": list(now.adding),
            "removing": list(now.removing),
            "bytes": wanted,
            "bytes_left": max(wanted - sum(arrived), 0),
            "progress": round(done, 4),
        }

    def _log_dir_moves(self) -> list[dict[str, Any]]:
        return [
            {
                "broker": broker,
                "topic": tp.topic,
                "partition": tp.partition,
                "target": future.target,
                "bytes": self._traffic.size_of(broker, tp),
                "copied": self._log_dirs.copied_bytes(future),
            }
            for (broker, tp), future in sorted(self._log_dirs.futures.items())
        ]

    # ---- tables beside the samples ----

    def broker_rows(self, cluster_id: str) -> list[dict[str, Any]]:
        """The rows of `brokers.parquet`."""
        lab = self._cluster.lab
        return [
            {
                "cluster": cluster_id,
                "broker": broker,
                "rack": lab.rack_of(broker),
                "disk_capacity_bytes": lab.disk_bytes,
            }
            for broker in sorted(self._cluster.machines)
        ]

    def partition_rows(self, cluster_id: str) -> list[dict[str, Any]]:
        """The rows of `assignment.parquet`."""
        metadata = self._cluster.metadata
        return [
            {
                "cluster": cluster_id,
                "topic": tp.topic,
                "partition": tp.partition,
                "replicas": list(now.replicas),
                "leader": self._leader(tp),
            }
            for tp in metadata.partitions()
            if (now := metadata.assignment(tp)) is not None
        ]
