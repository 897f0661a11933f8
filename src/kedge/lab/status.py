"""How a lab is: one value for people and programs alike."""

from __future__ import annotations

from typing import Any

from kedge.lab.directories import Directories
from kedge.lab.faults import Faults
from kedge.lab.sampling import instant
from kedge.lab.traffic import Traffic
from kedge.lab.world import LabWorld
from kedge.model import NO_LEADER, BrokerId, ReplicaAssignment, TopicPartition


class Looker:
    """Looks at everything. For the lab's thread."""

    def __init__(
        self,
        world: LabWorld,
        traffic: Traffic,
        directories: Directories,
        faults: Faults,
        epoch_ms: int,
    ) -> None:
        self._world = world
        self._traffic = traffic
        self._directories = directories
        self._faults = faults
        self._epoch_ms = epoch_ms

    def status(self) -> dict[str, Any]:
        """Brokers, controller, partitions, moves, faults, time."""
        world, truth = self._world, self._world.truth
        assigned = {tp: now for tp in truth.partitions() if (now := truth.assignment(tp))}
        behind = [tp for tp, now in assigned.items() if self._in_sync(tp) < len(now.replicas)]
        unled = [tp for tp in assigned if self._leader(tp) == NO_LEADER]
        return {
            "lab_time": instant(self._epoch_ms, world.clock.now_ms),
            "lab_ms": world.clock.now_ms,
            "speed": "max" if world.lab.is_max_speed else world.lab.speed,
            "traffic": world.lab.traffic.value,
            "controller": truth.controller,
            "controller_epoch": truth.epoch,
            "brokers": [self._broker(broker, assigned) for broker in sorted(world.machines)],
            "racks": sorted({world.lab.rack_of(broker) for broker in world.machines}),
            "topics": len(truth.topics),
            "partitions": len(assigned),
            "under_replicated": len(behind),
            "offline": len(unled),
            "moves": [self._move(tp, now) for tp, now in assigned.items() if now.in_progress],
            "log_dir_moves": self._log_dir_moves(),
            "slow_disks": {str(b): factor for b, factor in world.roads.slowness.items()},
            "cut_off": sorted(self._faults.cut_off),
            "failures": len(world.engine.failures),
        }

    def _in_sync(self, tp: TopicPartition) -> int:
        state = self._world.truth.states.get(tp)
        return 0 if state is None else len(state.isr)

    def _leader(self, tp: TopicPartition) -> BrokerId:
        state = self._world.truth.states.get(tp)
        return NO_LEADER if state is None else state.leader

    def _broker(
        self, broker: BrokerId, assigned: dict[TopicPartition, ReplicaAssignment]
    ) -> dict[str, Any]:
        machine = self._world.machines[broker]
        held = [tp for tp, now in assigned.items() if broker in now.replicas]
        return {
            "id": broker,
            "rack": self._world.lab.rack_of(broker),
            "up": machine.is_up,
            "port": machine.broker.endpoints[0].port,
            "replicas": len(held),
            "leaders": sum(self._leader(tp) == broker for tp in held),
            "size_bytes": sum(self._traffic.size_of(broker, tp) for tp in held),
            "failed_log_dirs": sorted(machine.disks.failed),
        }

    def _move(self, tp: TopicPartition, now: ReplicaAssignment) -> dict[str, Any]:
        leader = self._leader(tp)
        whole = self._traffic.size_of(leader, tp) if leader in self._world.machines else 0
        state = self._world.truth.states.get(tp)
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
                "copied": self._directories.copied_bytes(future),
            }
            for (broker, tp), future in sorted(self._directories.futures.items())
        ]

    # ---- tables beside the samples ----

    def broker_rows(self, cluster: str) -> list[dict[str, Any]]:
        """Brokers, as pipelines want them."""
        lab = self._world.lab
        return [
            {
                "cluster": cluster,
                "broker": broker,
                "rack": lab.rack_of(broker),
                "disk_capacity_bytes": lab.disk_bytes,
            }
            for broker in sorted(self._world.machines)
        ]

    def partition_rows(self, cluster: str) -> list[dict[str, Any]]:
        """Who holds what, as pipelines want it."""
        truth = self._world.truth
        return [
            {
                "cluster": cluster,
                "topic": tp.topic,
                "partition": tp.partition,
                "replicas": list(now.replicas),
                "leader": self._leader(tp),
            }
            for tp in truth.partitions()
            if (now := truth.assignment(tp)) is not None
        ]
