"""Validates CreateTopics, and places the replicas of new topics.

The checks in sequence, of which the first failure is the answer (KIP-4, KIP-464, KIP-525):

    reserved name · repeated · known already · config without a value · counts and lists both
    · placement · name, deletion, existence, collision, replicas, configs · policy

Placement precedes the check of the name, so for an invalid name with too many replicas the error is
about the replicas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kedge.errors import DuplicateInRequest, InvalidConfiguration, InvalidPartitions, KedgeError
from kedge.model import BrokerId
from kedge.placement import Draw, Placement, drawn, place, place_striped
from kedge.topics.configs import validate_configs
from kedge.topics.layout import Flavour, refuse_existing, validate_layout, validate_shape_kraft
from kedge.topics.names import TopicNames, refuse_reserved
from kedge.topics.policy import CreateProposal, Policy, allow
from kedge.topics.tiered import validate_tiered
from kedge.topics.view import BY_DEFAULT, ClusterView, Replicas


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """A topic to create: counts (or -1 for the cluster's defaults), or replica lists."""

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


def validate_create(
    request: CreateRequest,
    view: ClusterView,
    *,
    draw: Draw,
    policy: Policy[CreateProposal] = allow,
    flavour: Flavour = Flavour.ZOOKEEPER,
) -> NewTopic:
    """The topic to write, or the first refusal, raised."""
    refuse_reserved(request.name)
    batch = CreateBatch([request], view, draw=draw, policy=policy, flavour=flavour)
    return batch.validate_one(request)


def validate_creates(
    requests: Sequence[CreateRequest],
    view: ClusterView,
    *,
    draw: Draw,
    policy: Policy[CreateProposal] = allow,
    flavour: Flavour = Flavour.ZOOKEEPER,
    validate_only: bool = False,
) -> list[NewTopic | KedgeError]:
    """One answer for each request, in order; a refusal stands beside the successes.

    A topic accepted earlier in the batch exists for those after it: they may collide with it. When
    only validating nothing is written, so they do not.
    """
    batch = CreateBatch(
        requests, view, draw=draw, policy=policy, flavour=flavour, validate_only=validate_only
    )
    return batch.validate(requests)


class CreateBatch:
    """The validation of one request for many topics, all at once or in chunks.

    The cost is linear in the number of topics: names are indexed, and configs are validated once
    for all topics that have the same.
    """

    def __init__(
        self,
        requests: Sequence[CreateRequest],
        view: ClusterView,
        *,
        draw: Draw,
        policy: Policy[CreateProposal] = allow,
        flavour: Flavour = Flavour.ZOOKEEPER,
        validate_only: bool = False,
    ) -> None:
        self._view = view
        self._draw = draw
        self._policy = policy
        self._flavour = flavour
        self._validate_only = validate_only
        self._times = Counter(request.name for request in requests)
        self._names = TopicNames(view.topics)
        self._config_defaults = view.config_defaults()
        self._validated_configs: dict[frozenset[tuple[str, str]], KedgeError | None] = {}

    def validate(self, requests: Iterable[CreateRequest]) -> list[NewTopic | KedgeError]:
        """One answer for each of these requests of the batch, in order."""
        answers: list[NewTopic | KedgeError] = []
        for request in requests:
            try:
                refuse_reserved(request.name)
                _refuse_repeated(request.name, self._times)
                answers.append(self.validate_one(request))
            except KedgeError as refusal:
                answers.append(refusal)
        return answers

    def validate_one(self, request: CreateRequest) -> NewTopic:
        """The topic to write, or the first refusal, raised."""
        view, flavour = self._view, self._flavour
        if request.name in self._names and request.name not in view.unseen:
            refuse_existing(request.name, self._names)
        configs = _given_configs(request)
        resolved = _resolve(request, view)
        assignment = _assignment(resolved, view, self._draw, flavour)
        topic = NewTopic(request.name, assignment, configs)
        self._validate(topic, by_hand=bool(request.assignments))
        self._policy(_proposal(resolved, configs))
        if not self._validate_only:
            self._names.add(topic.name)
        return topic

    def _validate(self, topic: NewTopic, *, by_hand: bool) -> None:
        view = self._view
        if by_hand and self._flavour is Flavour.KRAFT:
            known = {broker.id for broker in view.brokers}
            validate_shape_kraft(topic.assignment, registered=known, active=known - view.fenced)
        validate_layout(topic.name, topic.assignment, existing=self._names, marked=view.marked)
        refusal = self._config_refusal(topic.configs)
        if refusal is not None:
            raise refusal

    def _config_refusal(self, configs: Mapping[str, str]) -> KedgeError | None:
        key = frozenset(configs.items())
        if key not in self._validated_configs:
            self._validated_configs[key] = self._validate_configs(configs)
        return self._validated_configs[key]

    def _validate_configs(self, configs: Mapping[str, str]) -> KedgeError | None:
        view = self._view
        try:
            values = validate_configs(
                configs, release=view.release, underneath=self._config_defaults
            )
            if view.tiered:
                validate_tiered(values, view.tiered)
        except KedgeError as refusal:
            return refusal
        return None


def _refuse_repeated(name: str, times: Mapping[str, int]) -> None:
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
            raise InvalidPartitions("0 partitions", hint="use 1 or more")
        return placed
    start = drawn(draw, len(brokers))
    return place(brokers, partitions=partitions, replication_factor=rf, start=start)


def _proposal(resolved: CreateRequest, configs: Mapping[str, str]) -> CreateProposal:
    if not resolved.assignments:
        counts = resolved.partitions, resolved.replication_factor
        return CreateProposal(resolved.name, *counts, None, configs)
    lists = {pid: tuple(ids) for pid, ids in sorted(resolved.assignments.items())}
    return CreateProposal(resolved.name, None, None, lists, configs)
