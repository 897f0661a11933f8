"""The lab: a whole cluster in one process, that any Kafka client can talk to.

Goal. Try everything that is done to a cluster without having one: topics, moves with throttles,
broken brokers, broken disks, another controller, a day of traffic. Kafka's own tools, and Kedge's,
work on a lab as on a real cluster, and what takes hours there takes seconds here.

The parts are those that exist anyway. Controllers are the real ones (`controller`, `runtime`), one
on every broker. Brokers, network and the flow of data are the simulator's (`brokers`, `sim`). The
ports are the endpoint's (`endpoint`), the store is the one in memory with its journal (`store`).
What is here ties them to the wall clock, to a directory and to people:

    settings, folder     what a lab is like, and the directory that it is kept in
    engine               the one thread on which everything simulated happens, at any speed
    world, roads, seats  brokers; disks, links and throttles; candidates for the controller's role
    directories          log directories, and replicas on their way between them
    shares, traffic      who is written to how much; pending bytes, records, retention
    sampling, notices    metrics of every minute of lab time, and chores
    keeping, keeper      what is on the disks, written down every second
    faults, status       breaking things, and looking at them
    lab                  all of it together, in this process
    control, process, detached      the same as a process that is given orders

Rules.

- Everything simulated is touched by the engine's thread alone. Others hand work in.
- Lab time passes `speed` times as fast as the wall's, or as fast as it can. Timeouts, sessions,
  retention and samples go by lab time; clients' own timeouts go by theirs.
- The store is durable at every write, the disks within a second. After `kill -9` what the disks
  lack is what the store knows better: a member of the ISR has all that was committed.
- One process per directory. Orders come through a socket in it that only its owner can open.
- The seed decides placement and traffic; the machine's clock decides only how fast.

Worked example: 1 GB to a new broker with a throttle of 10 MB/s, at sixty times the speed.

    with Lab.running(LabSettings(brokers=4, racks=2, speed=60)) as lab:
        …create topic t on brokers 0, 1; lab.fill("t", 10**9); throttle; reassign to 0, 3…
        lab.status()["moves"]     # [{"topic": "t", "adding": [3], "progress": 0.36, …}]
                                  # 100 s of lab time later, under 2 s on the wall, it is done

Names are imported when they are first used, so that commands start quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kedge.lab.folder import LabFolder, open_folder, open_or_make
    from kedge.lab.lab import Lab
    from kedge.lab.settings import LabSettings, Traffic

_HOMES = {
    "Lab": "lab",
    "LabFolder": "folder",
    "LabSettings": "settings",
    "Traffic": "settings",
    "open_folder": "folder",
    "open_or_make": "folder",
}

__all__ = ["Lab", "LabFolder", "LabSettings", "Traffic", "open_folder", "open_or_make"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"kedge.lab has no {name!r}")
    return getattr(import_module(f"kedge.lab.{home}"), name)
