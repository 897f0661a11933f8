"""Cordons brokers that a run drains, and gives them back what was set before (KIP-1066, Kafka 4.3).

The cluster places no new replica on a broker that is cordoned, and refuses reassignments to it. The
values of before are in the run's journal, so that every way to call the run off restores them:

    broker 3   cordoned.log.dirs unset      drain 3: *    cancel, rollback: unset
    broker 4   cordoned.log.dirs /data/0    drain 4: *    cancel, rollback: /data/0
    broker 5   cordoned.log.dirs *          drain 5: left as it is, and never removed
"""

from __future__ import annotations

from collections.abc import Collection

from kedge.apply.run_port import Run
from kedge.apply.throttles import UNREACHED
from kedge.cluster.port import (
    Cluster,
    ConfigChange,
    ConfigOp,
    ConfigSource,
    broker_resource,
)
from kedge.errors import KedgeError
from kedge.execution import RunState
from kedge.execution import journal as lines
from kedge.model import BrokerId

CORDONED_LOG_DIRS, ALL_LOG_DIRS = "cordoned.log.dirs", "*"


def cordonable(cluster: Cluster, brokers: Collection[BrokerId]) -> list[BrokerId]:
    """The brokers that can be cordoned and are not.

    A broker that knows the config lists it; one whose cluster has not finalized a metadata version
    that supports it refuses the change, so the change is validated first.
    """
    found: list[BrokerId] = []
    answers = cluster.describe_configs([broker_resource(broker) for broker in sorted(brokers)])
    for resource, entries in answers.items():
        values = {} if isinstance(entries, KedgeError) else {e.name: e.value for e in entries}
        if values.get(CORDONED_LOG_DIRS, ALL_LOG_DIRS) != ALL_LOG_DIRS:
            found.append(BrokerId(int(resource.name)))
    refused = _set_cordoned(cluster, found, validate_only=True)
    return [broker for broker in found if broker not in refused]


def cordon(cluster: Cluster, brokers: Collection[BrokerId], run: Run | None) -> None:
    """Cordon every log directory of brokers; the run's journal has their values of before."""
    if run is not None and brokers:
        run.write(lines.cordoned(own_values(cluster, brokers)))
    _cordon(cluster, brokers)


def complete_cordons(cluster: Cluster, run: Run) -> list[BrokerId]:
    """Cordon the brokers that a run was about to cordon when it was killed; returns them.

    A run that has entered a state has cordoned all of its brokers: where a cordon is missing then,
    another client has removed it, and it is left so.
    """
    record = run.record()
    if record.state is not RunState.PLANNED or not record.cordons:
        return []
    present = own_values(cluster, record.cordons)
    missing = [broker for broker, value in present.items() if value == record.cordons[broker]]
    _cordon(cluster, missing)
    return missing


def own_values(cluster: Cluster, brokers: Collection[BrokerId]) -> dict[BrokerId, str | None]:
    """What the own config of each broker that answers cordons; None where it has no such value."""
    answers = cluster.describe_configs([broker_resource(broker) for broker in sorted(brokers)])
    return {
        BrokerId(int(resource.name)): next(
            (
                entry.value
                for entry in entries
                if entry.name == CORDONED_LOG_DIRS and entry.source is ConfigSource.BROKER
            ),
            None,
        )
        for resource, entries in answers.items()
        if not isinstance(entries, KedgeError)
    }


def restore_cordons(cluster: Cluster, run: Run) -> list[BrokerId]:
    """Give the brokers that a run has cordoned their values of before; returns these brokers.

    A value that another client has set since is left as it is. A broker that does not answer stays
    in the journal: the next command about the run restores it.
    """
    former = run.record().cordons
    if not former:
        return []
    present = own_values(cluster, former)
    cordoned = {b: former[b] for b, value in present.items() if value == ALL_LOG_DIRS}
    unreached = _restore(cluster, cordoned)
    done = [broker for broker in present if broker not in unreached]
    if done:
        run.write(lines.uncordoned(done))
    return [broker for broker in done if broker in cordoned]


def _restore(cluster: Cluster, former: dict[BrokerId, str | None]) -> set[BrokerId]:
    """Returns the brokers that could not be reached."""
    removal = ConfigChange(CORDONED_LOG_DIRS, ConfigOp.DELETE)
    changes = {
        broker_resource(broker): [
            removal if value is None else ConfigChange(CORDONED_LOG_DIRS, ConfigOp.SET, value)
        ]
        for broker, value in former.items()
    }
    unreached: set[BrokerId] = set()
    for resource, refusal in (cluster.alter_configs(changes) if changes else {}).items():
        if isinstance(refusal, UNREACHED):
            unreached.add(BrokerId(int(resource.name)))
        elif refusal is not None:
            raise refusal
    return unreached


def _cordon(cluster: Cluster, brokers: Collection[BrokerId]) -> None:
    for refusal in _set_cordoned(cluster, brokers, validate_only=False).values():
        raise refusal


def _set_cordoned(
    cluster: Cluster, brokers: Collection[BrokerId], *, validate_only: bool
) -> dict[BrokerId, KedgeError]:
    change = [ConfigChange(CORDONED_LOG_DIRS, ConfigOp.SET, ALL_LOG_DIRS)]
    changes = {broker_resource(broker): change for broker in brokers}
    answers = cluster.alter_configs(changes, validate_only=validate_only) if changes else {}
    return {BrokerId(int(r.name)): refusal for r, refusal in answers.items() if refusal is not None}
