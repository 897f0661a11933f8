"""`python -m tests.real.run_faults`: what goes wrong while a plan is applied, on real brokers.

Each fault happens once while `kedge apply` moves six partitions of two topics under a throttle,
with a producer on one of them. Afterwards the moves that the fault concerns are set aside with a
reason, the others are in place, no reassignment is left, nor a throttle of Kedge on brokers that
are up, and every acknowledged record is there once. The exit code is 1 if any fault ends otherwise.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka import KafkaException

from jvm import KAFKA_3_9, KAFKA_4_1, memory_directory
from tests.real.brokers_apart import brokers_apart
from tests.real.fault_trial import BYTES_EACH, Trial, trial
from tests.real.faults import (
    USER,
    broker_killed,
    broker_killed_and_returned,
    config_changed,
    controller_killed,
    disk_full,
    foreign_move_of_another_partition,
    foreign_move_of_planned_partitions,
    right_to_move_lost,
    right_to_see_lost,
    right_to_throttle_lost,
    runs_topic_deleted,
    source_killed,
    topic_deleted,
    topic_hidden,
)
from tests.real.live_cluster import LiveCluster
from tests.real.operator import Operator
from tests.real.rights import CARRIES_OUT, client_with, revoke
from tests.real.secured import Secured

RELEASES = {"4.1": KAFKA_4_1, "3.9": KAFKA_3_9}
Fault = Callable[[Trial], str]
FAULTS: tuple[Fault, ...] = (
    foreign_move_of_planned_partitions,
    foreign_move_of_another_partition,
    topic_deleted,
    broker_killed,
    broker_killed_and_returned,
    source_killed,
    controller_killed,
    disk_full,
    config_changed,
    runs_topic_deleted,
    right_to_move_lost,
    right_to_throttle_lost,
    right_to_see_lost,
    topic_hidden,
)
IN_CLUSTER = frozenset({runs_topic_deleted})
# Throttles are read every 10 s: moves must be under way when a changed one is found.
BYTES: Mapping[Fault, int] = {config_changed: 3 * BYTES_EACH}
OF_RIGHTS = frozenset({right_to_move_lost, right_to_throttle_lost, right_to_see_lost, topic_hidden})


def play(
    cluster: LiveCluster,
    directory: Path,
    fault: Fault,
    security: Secured,
) -> str:
    """One fault; returns what came of it."""
    directory.mkdir()
    state = "cluster" if fault in IN_CLUSTER else ""
    with ExitStack() as stack:
        user = None
        if fault in OF_RIGHTS:
            at = cluster.bootstrap
            file = client_with(CARRIES_OUT, security, at, directory / "client.properties", USER)
            stack.callback(revoke, CARRIES_OUT, at, USER)
            config = ("--command-config", str(file))
            user = Operator(cluster, directory, *config, bootstrap=security.bootstrap)
            stack.callback(user.close)
        one = stack.enter_context(
            trial(
                cluster, directory, user=user, state=state, bytes_each=BYTES.get(fault, BYTES_EACH)
            )
        )
        return fault(one)


def faults(release: str, chosen: list[Fault]) -> bool:
    """Faults on a cluster of a release; whether all ended as they must."""
    clean = True
    with (
        tempfile.TemporaryDirectory(prefix="kedge-faults-", dir=memory_directory()) as directory,
        brokers_apart(Path(directory), RELEASES[release]) as cluster,
    ):
        for number, fault in enumerate(chosen):
            name = fault.__name__.replace("_", " ")
            if fault is disk_full and cluster.small_disk is None:
                print(f"{release} {name}: left out, nothing can be mounted here", flush=True)
                continue
            began = time.monotonic()
            try:
                place = Path(directory) / f"trial-{number}"
                came = play(cluster, place, fault, cluster.security)
            except (AssertionError, KafkaException) as failure:
                clean, came = False, f"FAILED: {failure}"
            print(f"{release} {name}: {came} ({time.monotonic() - began:.0f} s)", flush=True)
    return clean


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", choices=[*RELEASES, "both"], default="both")
    parser.add_argument("--fault", action="append", choices=[each.__name__ for each in FAULTS])
    given = parser.parse_args()
    chosen = [each for each in FAULTS if not given.fault or each.__name__ in given.fault]
    releases = list(RELEASES) if given.release == "both" else [given.release]
    ends = [faults(release, chosen) for release in releases]
    return 0 if all(ends) else 1


if __name__ == "__main__":
    sys.exit(main())
