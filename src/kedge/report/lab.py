"""Lines of the status of a lab."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kedge.report.amounts import bytes_text


def status_lines(status: Mapping[str, Any]) -> list[str]:
    """The cluster, its brokers, what moves, what is broken."""
    return [*_about(status), *_brokers(status), *_moves(status), *_broken(status)]


def _about(status: Mapping[str, Any]) -> Iterator[str]:
    yield f"lab time {status['lab_time']}, speed {status['speed']}, traffic {status['traffic']}"
    yield f"controller {status['controller']}, epoch {status['controller_epoch']}"
    yield (
        f"{status['topics']} topics, {status['partitions']} partitions, "
        f"{status['under_replicated']} under-replicated, {status['offline']} without a leader"
    )
    yield f"--bootstrap-server {status['bootstrap_servers']}"


def _brokers(status: Mapping[str, Any]) -> Iterator[str]:
    yield "broker  rack  state   port  replicas  leaders       size"
    for broker in status["brokers"]:
        state = "up" if broker["up"] else "down"
        yield (
            f"{broker['id']:>6}  {broker['rack']:<4}  {state:<5}  {broker['port']:>5}  "
            f"{broker['replicas']:>8}  {broker['leaders']:>7}  "
            f"{bytes_text(broker['size_bytes']):>9}"
        )


def _moves(status: Mapping[str, Any]) -> Iterator[str]:
    for move in status["moves"]:
        adding, removing = move["adding"], move["removing"]
        yield (
            f"moving {move['topic']}-{move['partition']}: adding {adding}, removing {removing}, "
            f"{move['progress']:.0%}, {bytes_text(move['bytes_left'])} left"
        )
    for move in status["log_dir_moves"]:
        yield (
            f"moving {move['topic']}-{move['partition']} on broker {move['broker']} to "
            f"{move['target']}: {bytes_text(move['copied'])} of {bytes_text(move['bytes'])}"
        )


def _broken(status: Mapping[str, Any]) -> Iterator[str]:
    if status.get("storage_fault"):
        yield f"nothing can be stored: {status['storage_fault']}"
    if status["cut_off"]:
        yield f"cut off: brokers {', '.join(map(str, status['cut_off']))}"
    for broker, factor in status["slow_disks"].items():
        yield f"broker {broker} has disks {factor:g} times slower"
    for broker in status["brokers"]:
        if broker["failed_log_dirs"]:
            yield f"broker {broker['id']} has lost {', '.join(broker['failed_log_dirs'])}"


def live_line(status: Mapping[str, Any]) -> str:
    """The state of a lab in one line."""
    up = sum(broker["up"] for broker in status["brokers"])
    return (
        f"{status['lab_time'][:19]}  {up}/{len(status['brokers'])} brokers  "
        f"controller {status['controller']}  {status['partitions']} partitions, "
        f"{status['under_replicated']} under-replicated, {len(status['moves'])} moving"
    )
