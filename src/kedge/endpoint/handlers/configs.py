"""Handlers of DescribeConfigs, AlterConfigs and IncrementalAlterConfigs, resource by resource."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from kedge.endpoint.config_entries import ConfigEntry, ConfigSetting, Resource
from kedge.endpoint.handlers.call import Call
from kedge.errors import DuplicateInRequest, InvalidRequest, KedgeError, PolicyViolation
from kedge.model.error_codes import ErrorCode
from kedge.protocol import code_of, message_of
from kedge.protocol.messages import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kedge.topics import Alteration, Op, Source, refuse_repeated_keys

NamedResource = DescribeConfigsRequest.DescribeConfigsResource
Result = DescribeConfigsResponse.DescribeConfigsResult
Entry = Result.DescribeConfigsResourceResult
Synonym = Entry.DescribeConfigsSynonym

ResponseItem = TypeVar("ResponseItem")
Refusals = dict[Resource, KedgeError | None]

SOURCES: Mapping[Source, int] = {  # as DescribeConfigs numbers them
    Source.TOPIC: 1,
    Source.BROKER: 2,
    Source.ALL_BROKERS: 3,
    Source.STATIC: 4,
    Source.BUILT_IN: 5,
}

DESCRIBED_MAX = 250_000  # configs in one response: those of some 7,000 topics
_YIELD_EVERY = 256


# ---- describe ------------------------------------------------------------------------------------


async def describe_configs(call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """Configs of topics and of the node itself, with their sources; one result for each resource,
    however often it is named."""
    chosen = _chosen_names(request.resources)
    resources = list(chosen)
    try:
        answers = await call.backend.configs.describe(call.node, resources)
    except KedgeError as refusal:
        answers = [refusal for _ in resources]
    room = DESCRIBED_MAX
    results: list[Result] = []
    entries = _Entries(synonyms=request.include_synonyms)
    for resource, answer in zip(resources, answers, strict=True):
        result = _described(resource, answer, chosen[resource], entries)
        room -= len(result.configs)
        if room < 0:
            result = _described(resource, _too_many(), None, entries)
        results.append(result)
        await _yield_now(len(results))
    return DescribeConfigsResponse(results=results)


async def _yield_now(done: int) -> None:
    """Suspend after every so many items, so that work for a closed connection is cancelled."""
    if done % _YIELD_EVERY == 0:
        await asyncio.sleep(0)


def _chosen_names(named: Iterable[NamedResource]) -> dict[Resource, set[str] | None]:
    """The wanted config names of each resource, None for all of them."""
    chosen: dict[Resource, set[str] | None] = {}
    for each in named:
        resource = Resource(each.resource_type, each.resource_name)
        before, names = chosen.get(resource, set()), each.configuration_keys
        chosen[resource] = None if before is None or names is None else before | set(names)
    return chosen


def _too_many() -> KedgeError:
    return PolicyViolation(
        f"the response would have more than {DESCRIBED_MAX} configs",
        hint="describe fewer resources, or single configs, at a time",
    )


class _Entries:
    """Entries of a response, made once for resources with the same description."""

    def __init__(self, *, synonyms: bool) -> None:
        self._synonyms = synonyms
        self._made: dict[int, tuple[Sequence[ConfigEntry], dict[str, Entry]]] = {}

    def of(self, described: Sequence[ConfigEntry], names: Collection[str] | None) -> list[Entry]:
        known = self._made.get(id(described))
        if known is None:
            made = {entry.name: _entry(entry, synonyms=self._synonyms) for entry in described}
            known = self._made[id(described)] = (described, made)
        return [entry for name, entry in known[1].items() if names is None or name in names]


def _described(
    resource: Resource,
    answer: Sequence[ConfigEntry] | KedgeError,
    names: Collection[str] | None,
    made: _Entries,
) -> Result:
    if isinstance(answer, KedgeError):
        code, message, entries = code_of(answer), message_of(answer), []
    else:
        code, message = ErrorCode.NONE, None
        entries = made.of(answer, names)
    return Result(
        error_code=code,
        error_message=message,
        resource_type=resource.type,
        resource_name=resource.name,
        configs=entries,
    )


def _entry(entry: ConfigEntry, *, synonyms: bool) -> Entry:
    return Entry(
        name=entry.name,
        value=None if entry.sensitive else entry.value,
        read_only=entry.read_only,
        config_source=SOURCES[entry.source],
        is_sensitive=entry.sensitive,
        synonyms=[_synonym(entry, setting) for setting in entry.synonyms] if synonyms else [],
        config_type=entry.kind,
        documentation=None,
    )


def _synonym(entry: ConfigEntry, setting: ConfigSetting) -> Synonym:
    value = None if entry.sensitive else setting.value
    return Synonym(name=setting.name, value=value, source=SOURCES[setting.source])


# ---- alter ---------------------------------------------------------------------------------------


async def alter_configs(call: Call, request: AlterConfigsRequest) -> AlterConfigsResponse:
    """Replace all configs of each resource."""
    wanted = [
        (
            Resource(r.resource_type, r.resource_name),
            [Alteration(c.name, Op.SET, c.value) for c in r.configs],
        )
        for r in request.resources
    ]
    outcome = await _alter(call, wanted, replace=True, validate_only=request.validate_only)
    response = AlterConfigsResponse.AlterConfigsResourceResponse
    return AlterConfigsResponse(
        responses=[_response(response, resource, error) for resource, error in outcome.items()]
    )


async def incremental_alter_configs(
    call: Call, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Change configs of each resource step by step (KIP-339)."""
    wanted: list[tuple[Resource, list[Alteration]]] = []
    malformed: Refusals = {}
    for r in request.resources:
        resource = Resource(r.resource_type, r.resource_name)
        try:
            steps = [Alteration(c.name, _op(c.config_operation), c.value) for c in r.configs]
        except InvalidRequest as refusal:
            malformed[resource], steps = refusal, []
        wanted.append((resource, steps))
    outcome = await _alter(
        call, wanted, replace=False, validate_only=request.validate_only, malformed=malformed
    )
    response = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    return IncrementalAlterConfigsResponse(
        responses=[_response(response, resource, error) for resource, error in outcome.items()]
    )


def _op(number: int) -> Op:
    try:
        return Op(number)
    except ValueError:
        raise InvalidRequest(f"config operation {number} is not known") from None


async def _alter(
    call: Call,
    wanted: Sequence[tuple[Resource, Sequence[Alteration]]],
    *,
    replace: bool,
    validate_only: bool,
    malformed: Mapping[Resource, KedgeError | None] | None = None,
) -> Refusals:
    refusals = _refuse_repeated(wanted) | dict(malformed or {})
    changes = {resource: steps for resource, steps in wanted if resource not in refusals}
    try:
        done = await call.backend.configs.alter(
            call.node, changes, replace=replace, validate_only=validate_only
        )
    except KedgeError as refusal:
        done = dict.fromkeys(changes, refusal)
    every = {**refusals, **done}
    return {resource: every[resource] for resource, _ in wanted}


def _refuse_repeated(wanted: Iterable[tuple[Resource, Sequence[Alteration]]]) -> Refusals:
    """Refuse repeated resources, and repeated configs of one resource."""
    refusals: Refusals = {}
    times = Counter(resource for resource, _ in wanted)
    for resource, steps in wanted:
        try:
            if times[resource] > 1:
                raise DuplicateInRequest(f"{resource} is named more than once")
            refuse_repeated_keys(step.name for step in steps)
        except DuplicateInRequest as refusal:
            refusals[resource] = refusal
    return refusals


def _response(
    response: Callable[..., ResponseItem], resource: Resource, error: KedgeError | None
) -> ResponseItem:
    return response(
        error_code=ErrorCode.NONE if error is None else code_of(error),
        error_message=None if error is None else message_of(error),
        resource_type=resource.type,
        resource_name=resource.name,
    )
