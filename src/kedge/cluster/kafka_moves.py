"""Reads and starts reassignments, log directory moves and elections over Kafka's protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from kedge.cluster.admin_session import Session
from kedge.cluster.batches import PARTITIONS_MAX, batches
from kedge.cluster.error_mapping import refusal
from kedge.cluster.kafka_topics import brokers
from kedge.cluster.port import (
    DONE,
    Answers,
    Election,
    LogDirDescription,
    Replica,
    StoredReplica,
)
from kedge.errors import KedgeError
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

DESCRIBE, ALTER = "Describe on Cluster", "Alter on Cluster"

Targets = Mapping[TopicPartition, Sequence[BrokerId] | None]


def reassignments(session: Session) -> dict[TopicPartition, ReplicaAssignment]:
    """Every partition that is being moved."""
    deadline = session.deadline()
    request = ListPartitionReassignmentsRequest(
        topics=None, timeout_ms=session.patience_ms(deadline)
    )
    answer = session.send_to_controller(
        request, ListPartitionReassignmentsResponse, deadline, _top_code, change=False
    )
    _raise_for(answer, "reassignments", needs=DESCRIBE)
    return {
        TopicPartition(topic.name, each.partition_index): ReplicaAssignment(
            brokers(each.replicas),
            brokers(each.adding_replicas),
            brokers(each.removing_replicas),
        )
        for topic in answer.topics
        for each in topic.partitions
    }


def alter_reassignments(session: Session, targets: Targets) -> Answers[TopicPartition]:
    """Start, change and cancel moves, in requests of bounded size."""
    deadline = session.deadline()
    answers: Answers[TopicPartition] = {}
    for batch in batches(sorted(targets), PARTITIONS_MAX):
        request = AlterPartitionReassignmentsRequest(
            topics=_reassignable(batch, targets), timeout_ms=session.patience_ms(deadline)
        )
        answer = session.send_to_controller(
            request, AlterPartitionReassignmentsResponse, deadline, _top_code
        )
        _raise_for(answer, "reassignments", needs=ALTER)
        for topic in answer.responses:
            for each in topic.partitions:
                tp = TopicPartition(topic.name, each.partition_index)
                answers[tp] = refusal(each.error_code, each.error_message, needs=ALTER)
    return answers


def authorize_reassignments(session: Session) -> KedgeError | None:
    """The refusal of a request that names no partition: rights are checked all the same."""
    deadline = session.deadline()
    request = AlterPartitionReassignmentsRequest(
        topics=[], timeout_ms=session.patience_ms(deadline)
    )
    answer = session.send_to_controller(
        request, AlterPartitionReassignmentsResponse, deadline, _top_code, change=False
    )
    return refusal(answer.error_code, answer.error_message, "reassignments", needs=ALTER)


def _reassignable(batch: Sequence[TopicPartition], targets: Targets) -> list[Any]:
    kind = AlterPartitionReassignmentsRequest.ReassignableTopic

    def partition(tp: TopicPartition) -> Any:
        target = targets[tp]
        return kind.ReassignablePartition(
            partition_index=tp.partition, replicas=None if target is None else list(target)
        )

    return [
        kind(name=topic, partitions=[partition(tp) for tp in group])
        for topic, group in groupby(batch, key=lambda tp: tp.topic)
    ]


def _top_code(answer: Any) -> Iterable[int]:
    return (answer.error_code,)


def _raise_for(answer: Any, subject: str, *, needs: str) -> None:
    message = getattr(answer, "error_message", None)
    error = refusal(answer.error_code, message, subject, needs=needs)
    if error is not None:
        raise error


# ---- log directories ----------------------------------------------------------------------------


def log_dirs(
    session: Session, nodes: Sequence[BrokerId], topics: Sequence[str] | None
) -> dict[BrokerId, tuple[LogDirDescription, ...] | KedgeError]:
    """The log directories of each of these brokers, with their replicas."""
    wanted = None if topics is None else _all_partitions(session, topics)
    found: dict[BrokerId, tuple[LogDirDescription, ...] | KedgeError] = {}
    for node, deadline in session.deadline().shares(nodes):
        try:
            request = DescribeLogDirsRequest(topics=wanted)
            answer = session.send(request, DescribeLogDirsResponse, deadline, node=node)
            _raise_for(answer, f"broker {node}", needs=DESCRIBE)
        except KedgeError as fault:
            found[node] = fault
        else:
            found[node] = tuple(map(_log_dir, answer.results))
    return found


def _all_partitions(session: Session, topics: Sequence[str]) -> list[Any]:
    """The request must name every partition; a broker leaves out those that it does not have."""
    from kedge.cluster.kafka_topics import describe_topics

    described = describe_topics(session, topics)
    return [
        DescribeLogDirsRequest.DescribableLogDirTopic(
            topic=topic.name, partitions=[each.partition for each in topic.partitions]
        )
        for topic in described.values()
        if not isinstance(topic, KedgeError)
    ]


def _log_dir(result: DescribeLogDirsResponse.DescribeLogDirsResult) -> LogDirDescription:
    return LogDirDescription(
        result.log_dir,
        tuple(
            StoredReplica(
                TopicPartition(topic.name, each.partition_index),
                each.partition_size,
                each.offset_lag,
                each.is_future_key,
            )
            for topic in result.topics
            for each in topic.partitions
        ),
        refusal(result.error_code, None, result.log_dir),
        _told(result.total_bytes),
        _told(result.usable_bytes),
    )


def _told(size: int | None) -> int | None:
    return None if size is None or size < 0 else size


def alter_log_dirs(session: Session, moves: Mapping[Replica, str]) -> Answers[Replica]:
    """Move replicas between directories, each by a request to its broker."""
    answers: Answers[Replica] = {}
    nodes = sorted({replica.broker for replica in moves})
    for node, deadline in session.deadline().shares(nodes):
        own = {replica: path for replica, path in moves.items() if replica.broker == node}
        request = AlterReplicaLogDirsRequest(dirs=_directories(own))
        try:
            answer = session.send(
                request, AlterReplicaLogDirsResponse, deadline, node=node, change=True
            )
        except KedgeError as fault:
            answers |= dict.fromkeys(own, fault)
            continue
        for topic in answer.results:
            for each in topic.partitions:
                replica = Replica(topic.topic_name, each.partition_index, node)
                answers[replica] = refusal(each.error_code, None, needs=ALTER)
    return answers


def _directories(moves: Mapping[Replica, str]) -> list[Any]:
    kind = AlterReplicaLogDirsRequest.AlterReplicaLogDir
    paths: dict[str, dict[str, list[int]]] = {}
    for replica, path in moves.items():
        paths.setdefault(path, {}).setdefault(replica.topic, []).append(replica.partition)
    return [
        kind(
            path=path,
            topics=[
                kind.AlterReplicaLogDirTopic(name=topic, partitions=partitions)
                for topic, partitions in topics.items()
            ],
        )
        for path, topics in paths.items()
    ]


# ---- elections ----------------------------------------------------------------------------------


# A busy broker of 3.9 may miss that its election is over. It looks again when this time has passed,
# which must be before this client gives up.
ELECTION_MS = 10_000


def elect_leaders(
    session: Session, election: Election, partitions: Sequence[TopicPartition] | None
) -> Answers[TopicPartition]:
    """Elect leaders of some partitions, or of all."""
    deadline = session.deadline()
    answers: Answers[TopicPartition] = {}
    chosen: list[list[TopicPartition] | None] = [None]
    if partitions is not None:
        chosen = [*batches(sorted(partitions), PARTITIONS_MAX)]
    for batch in chosen:
        request = ElectLeadersRequest(
            election_type=election.value,
            topic_partitions=None if batch is None else _electable(batch),
            timeout_ms=min(session.patience_ms(deadline), ELECTION_MS),
        )
        answer = session.send_to_controller(
            request, ElectLeadersResponse, deadline, _election_codes
        )
        _raise_for(answer, "the election", needs=ALTER)
        answers |= _elected(answer)
    return answers


def _electable(batch: Sequence[TopicPartition]) -> list[Any]:
    return [
        ElectLeadersRequest.TopicPartitions(topic=topic, partitions=[tp.partition for tp in group])
        for topic, group in groupby(batch, key=lambda tp: tp.topic)
    ]


def _elected(answer: ElectLeadersResponse) -> Answers[TopicPartition]:
    return {
        TopicPartition(topic.topic, each.partition_id): (
            refusal(each.error_code, each.error_message, needs=ALTER) if each.error_code else DONE
        )
        for topic in answer.replica_election_results
        for each in topic.partition_result
    }


def _election_codes(answer: Any) -> Iterable[int]:
    if answer.error_code:
        return (answer.error_code,)
    return (
        each.error_code
        for topic in answer.replica_election_results
        for each in topic.partition_result
    )
