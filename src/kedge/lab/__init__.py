"""A lab: a Kafka cluster simulated in one process, which Kafka clients and tools can use.

Goal. Try every operation without a real cluster: topics, moves with throttles, broker and disk
failures, controller failover, a day of traffic. Kafka's own tools and Kedge's commands work on a
lab as on a real cluster; what takes hours there takes seconds here.

The controllers are the real ones (`controller`, `runtime`), one per broker. Brokers, network and
bandwidth come from `brokers` and `sim`, the network ports from `endpoint`, the in-memory store with
its journal from `store`. This package runs them on the wall clock and keeps them in a directory:

    settings, lab_dir        settings of a lab, and the directory that contains it
    clock_thread             the thread of all simulated components, at any speed
    lab_cluster              the simulated cluster: brokers, network, store, bandwidth
    zookeeper_mode           what is particular to ZooKeeper mode
    controller_candidates    one controller candidate per broker
    kraft                    what is particular to KRaft mode: controllers with a log of their own
    log_dirs                 log directories, and moves between them
    traffic_model            bytes per partition and minute, from the seed
    traffic_generator        pending bytes, records, retention
    metrics_sampler          metrics of every minute of lab time
    config_change_gc         deletion of old config-change notifications
    log_checkpoint           the brokers' logs, written to a file every second
    fault_injection, status  faults, and the state of the lab
    lab                      all components together, in this process
    lab_process, daemon, control_socket     the lab as a process that receives commands

Rules.

- Only the clock thread accesses simulated components. Other threads submit work to it.
- Lab time passes `speed` times as fast as wall-clock time, or as fast as it can be computed.
  Timeouts, sessions, retention and samples use lab time; timeouts of clients use their own clocks.
- The store is durable at every write, the logs within a second. After `kill -9` the logs are
  reconciled with the store: a member of the ISR has every committed record.
- One process per directory. Commands arrive through a socket in it that only its owner can open.
- The seed decides placement and traffic; the machine's speed decides only how long it takes.

Worked example: 1 GB to a new broker with a throttle of 10 MB/s, at sixty times the speed.

    with Lab.running(LabSettings(brokers=4, racks=2, speed=60)) as lab:
        …create topic t on brokers 0, 1; lab.fill("t", 10**9); throttle; reassign to 0, 3…
        lab.status()["moves"]     # [{"topic": "t", "adding": [3], "progress": 0.36, …}]
                                  # done after 100 s of lab time, under 2 s of wall-clock time

Names are imported at first use, so that commands start quickly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kedge.lazy_names import imported_on_use

if TYPE_CHECKING:
    from kedge.lab.lab import Lab
    from kedge.lab.lab_dir import LabDir, open_lab_dir, open_or_create_lab_dir
    from kedge.lab.settings import LabSettings, Traffic

_MODULE_OF = {
    "Lab": "lab",
    "LabDir": "lab_dir",
    "LabSettings": "settings",
    "Traffic": "settings",
    "open_lab_dir": "lab_dir",
    "open_or_create_lab_dir": "lab_dir",
}

__all__ = ["Lab", "LabDir", "LabSettings", "Traffic", "open_lab_dir", "open_or_create_lab_dir"]


__getattr__ = imported_on_use(__name__, _MODULE_OF)
