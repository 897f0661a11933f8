"""Judging CreateTopics: every way to make a topic ends here.

The order, in which the first failure is the answer (KIP-4, KIP-464, KIP-525):

    reserved name · named twice · known already · config without a value · counts and lists both
    · placement · name, deletion, existence, collision, replicas, configs · policy

Placement comes before the name is judged, so a bad name with too many replicas is told about the
replicas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kedge.errors import DuplicateInRequest, InvalidConfiguration, InvalidPartitions, KedgeError
from kedge.model import BrokerId
from kedge.placement import Draw, Placement, drawn, place, place_striped
from kedge.topics.names import refuse_reserved
from kedge.topics.policy import CreateProposal, Policy, allow
from kedge.topics.validation import Flavour, judge_shape_kraft, refuse_existing, validate_create
from kedge.topics.view import BY_DEFAULT, ClusterView, Partitions, Replicas, at_rest


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """A topic that somebody wants: counts (or -1 for the cluster's), or replica lists."""

    name: str
    partitions: int = BY_DEFAULT
    replication_factor: int = BY_DEFAULT
    assignments: Mapping[int, Sequence[BrokerId]] = field(
        default_factory=dict[int, Sequence[BrokerId]]
    )
    configs: Mapping[str, str | None] = field(default_factory=dict[str, str | None])


@dataclass(frozen=True, slots=True)
class NewTopic:
    """What to write: replicas by partition, and the configs (even if there are none)."""

    name: str
    assignment: Mapping[int, Replicas]
    configs: Mapping[str, str]

    @property
    def partitions(self) -> int:
        """How many partitions the topic will have."""
        return len(self.assignment)

    @property
    def replication_factor(self) -> int:
        """How many replicas each of them will have."""
        return len(next(iter(self.assignment.values())))


def judge_create(
    request: CreateRequest,
    view: ClusterView,
    *,
    draw: Draw,
    policy: Policy[CreateProposal] = allow,
    flavour: Flavour = Flavour.ZOOKEEPER,
) -> NewTopic:
    """The topic to write, or the first refusal, raised."""
    refuse_reserved(request.name)
    if view.knows(request.name):
        refuse_existing(request.name, view.topics)
    configs = _given_configs(request)
    resolved = _resolve(request, view)
    assignment = _assignment(resolved, view, draw, flavour)
    _validate(NewTopic(request.name, assignment, configs), view, flavour, bool(request.assignments))
    policy(_proposal(resolved, configs))
    return NewTopic(request.name, assignment, configs)


def judge_creates(
    requests: Sequence[CreateRequest],
    view: ClusterView,
    *,
    draw: Draw,
    policy: Policy[CreateProposal] = allow,
    flavour: Flavour = Flavour.ZOOKEEPER,
    validate_only: bool = False,
) -> list[NewTopic | KedgeError]:
    """One answer for each request, in order; a refusal stands beside the successes.

    A topic accepted earlier in the batch is there for those after it: they may collide with it.
    Nothing is written when only validating, so then they may not.
    """
    times = Counter(request.name for request in requests)
    topics: dict[str, Partitions] = dict(view.topics)
    growing = replace(view, topics=topics)
    answers: list[NewTopic | KedgeError] = []
    for request in requests:
        try:
            refuse_reserved(request.name)
            _refuse_twice(request.name, times)
            made = judge_create(request, growing, draw=draw, policy=policy, flavour=flavour)
        except KedgeError as refusal:
            answers.append(refusal)
            continue
        answers.append(made)
        if not validate_only:
            topics[made.name] = at_rest(made.assignment)
    return answers


def _refuse_twice(name: str, times: Mapping[str, int]) -> None:
    if times[name] > 1:
        raise DuplicateInRequest(f"the request creates topic {name!r} more than once")


def _given_configs(request: CreateRequest) -> dict[str, str]:
    empty = [name for name, text in request.configs.items() if text is None]
    if empty:
        raise InvalidConfiguration(f"topic {request.name!r}: no value for {', '.join(empty)}")
    return {name: text for name, text in request.configs.items() if text is not None}


def _resolve(request: CreateRequest, view: ClusterView) -> CreateRequest:
    counted = (request.partitions, request.replication_factor) != (BY_DEFAULT, BY_DEFAULT)
    if request.assignments:
        if counted:
            raise DuplicateInRequest(
                f"topic {request.name!r} has both counts and replica lists",
                hint="give partitions and replication factor, or the replicas, not both",
            )
        return request
    partitions, rf = request.partitions, request.replication_factor
    return replace(
        request,
        partitions=view.defaults.partitions if partitions == BY_DEFAULT else partitions,
        replication_factor=view.defaults.replication_factor if rf == BY_DEFAULT else rf,
    )


def _assignment(
    resolved: CreateRequest, view: ClusterView, draw: Draw, flavour: Flavour
) -> dict[int, Replicas]:
    if not resolved.assignments:
        return _placed(resolved, view, draw, flavour).as_mapping()
    return {pid: tuple(ids) for pid, ids in sorted(resolved.assignments.items())}


def _placed(resolved: CreateRequest, view: ClusterView, draw: Draw, flavour: Flavour) -> Placement:
    brokers = sorted(view.brokers, key=lambda broker: broker.id)
    partitions, rf = resolved.partitions, resolved.replication_factor
    if flavour is Flavour.KRAFT:
        placed = place_striped(
            brokers, partitions=partitions, replication_factor=rf, fenced=view.fenced, draw=draw
        )
        if not partitions:
            raise InvalidPartitions("0 partitions", hint="ask for 1 or more")
        return placed
    start = drawn(draw, len(brokers))
    return place(brokers, partitions=partitions, replication_factor=rf, start=start)


def _validate(topic: NewTopic, view: ClusterView, flavour: Flavour, by_hand: bool) -> None:
    if by_hand and flavour is Flavour.KRAFT:
        registered = {broker.id for broker in view.brokers}
        judge_shape_kraft(topic.assignment, registered=registered, active=registered - view.fenced)
    validate_create(
        topic.name,
        topic.assignment,
        topic.configs,
        existing=view.topics,
        marked=view.marked,
        release=view.release,
        underneath=view.config_defaults(),
        tiered=view.tiered,
    )


def _proposal(resolved: CreateRequest, configs: Mapping[str, str]) -> CreateProposal:
    if not resolved.assignments:
        counts = resolved.partitions, resolved.replication_factor
        return CreateProposal(resolved.name, *counts, None, configs)
    lists = {pid: tuple(ids) for pid, ids in sorted(resolved.assignments.items())}
    return CreateProposal(resolved.name, None, None, lists, configs)
