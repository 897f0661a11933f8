"""Samples, findings and proposals as JSON, as a database keeps them.

A proposal's plan is the text of a plan file, so that it can be saved and applied as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

import orjson

from kedge.errors import MalformedInput
from kedge.model import BrokerId, TopicPartition
from kedge.plan import plan_to_json, read_plan
from kedge.watch.findings import Finding, FindingKind
from kedge.watch.policy import Kind
from kedge.watch.proposals import Approval, Cost, Proposal, ProposalState
from kedge.watch.samples import BrokerSample, Sample


def sample_to_json(sample: Sample) -> bytes:
    """One sample; the rows of brokers are lists, in the sequence of their fields."""
    rows = [[getattr(row, each.name) for each in fields(BrokerSample)] for row in sample.brokers]
    counts = {e.name: getattr(sample, e.name) for e in fields(Sample) if e.name != "brokers"}
    return orjson.dumps({**counts, "brokers": rows})


def sample_from_json(data: bytes) -> Sample:
    """The sample that `sample_to_json` wrote."""
    document = _document(data, "sample")
    try:
        document["brokers"] = tuple(BrokerSample(*row) for row in document["brokers"])
        return Sample(**document)
    except (TypeError, KeyError) as fault:
        raise MalformedInput(f"not a sample ({fault})") from fault


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """One finding as JSON values."""
    return {**asdict(finding), "kind": finding.kind.value, "remedy": finding.remedy}


def finding_from_json(document: Mapping[str, Any]) -> Finding:
    """The finding that `finding_to_json` wrote."""
    values: dict[str, Any] = {n: value for n, value in document.items() if n != "remedy"}
    try:
        values["kind"] = FindingKind(values["kind"])
        values["brokers"] = tuple(values["brokers"])
        return Finding(**values)
    except (TypeError, KeyError, ValueError) as fault:
        raise MalformedInput(f"not a finding ({fault})") from fault


def proposal_to_json(proposal: Proposal) -> bytes:
    """One proposal; times are seconds since 1970."""
    plain = {e.name: getattr(proposal, e.name) for e in fields(Proposal)}
    plan = proposal.plan
    return orjson.dumps(
        {
            **plain,
            "alive": sorted(proposal.alive),
            "cost": asdict(proposal.cost),
            "plan": None if plan is None else plan_to_json(plan).decode(),
            "elect": [list(tp) for tp in proposal.elect],
            "approval": None if proposal.approval is None else asdict(proposal.approval),
        }
    )


def proposal_from_json(data: bytes) -> Proposal:
    """The proposal that `proposal_to_json` wrote."""
    values = _document(data, "proposal")
    try:
        return Proposal(**{name: _READERS.get(name, _as_is)(each) for name, each in values.items()})
    except (TypeError, KeyError, ValueError) as fault:
        raise MalformedInput(f"not a proposal ({fault})") from fault


def _as_is(value: Any) -> Any:
    return value


def _cost(value: dict[str, Any]) -> Cost:
    values: dict[str, Any] = {**value, "problems": tuple(value["problems"])}
    return Cost(**values)


_READERS: dict[str, Callable[[Any], Any]] = {
    "kind": Kind,
    "state": ProposalState,
    "reasons": tuple,
    "subject": tuple,
    "alive": lambda ids: frozenset(map(BrokerId, ids)),
    "cost": _cost,
    "plan": lambda text: None if text is None else read_plan(text.encode()),
    "elect": lambda rows: tuple(TopicPartition(*row) for row in rows),
    "approval": lambda given: None if given is None else Approval(**given),
}


def _document(data: bytes, what: str) -> dict[str, Any]:
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as fault:
        raise MalformedInput(f"not the JSON of a {what}") from fault
    if not isinstance(document, dict):
        raise MalformedInput(f"not the JSON of a {what}")
    return document  # pyright: ignore[reportUnknownVariableType]
