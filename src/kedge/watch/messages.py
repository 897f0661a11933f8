"""Events of the loop as messages: plain JSON, and the forms of Slack and Teams.

An event says that a finding is new or gone, or that a proposal has changed its state. The forms are
pure functions; `kedge.watch_runtime.webhooks` sends them.

    JSON    {"event": "proposal", "cluster": "orders", "state": "open", "id": …, "text": …}
    Slack   blocks: a header, a section with the reasons, a line of context
    Teams   an adaptive card with the same three parts
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from kedge.model.amounts import bytes_text, duration_text
from kedge.watch.findings import Finding
from kedge.watch.policy import WebhookForm
from kedge.watch.proposals import Proposal

TEXT_MAX = 2900  # Slack takes 3,000 characters in a section
Message = dict[str, Any]


class EventKind(StrEnum):
    """What an event is about."""

    PROPOSAL = "proposal"
    FINDING = "finding"
    GONE = "finding gone"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: a title of a line, sentences, and the fields for programs."""

    kind: EventKind
    cluster: str
    at: float
    title: str
    lines: tuple[str, ...]
    fields: Mapping[str, Any]


def proposal_event(cluster: str, proposal: Proposal) -> Event:
    """A proposal is made, or has changed its state."""
    cost = proposal.cost
    moved = (
        f"{len(proposal.elect)} elections, no data moves"
        if proposal.plan is None
        else f"{cost.moves} moves, {bytes_text(cost.bytes)}, about {duration_text(cost.seconds)}"
    )
    title = f"{cluster}: {proposal.kind} {proposal.id} is {proposal.state}"
    decided = f"{proposal.by}: {proposal.why}" if proposal.why else f"by {proposal.by}"
    return Event(
        EventKind.PROPOSAL,
        cluster,
        proposal.changed_at,
        title,
        (*proposal.reasons, moved, *(f"Problem: {each}" for each in cost.problems), decided),
        {
            "id": proposal.id,
            "kind": proposal.kind.value,
            "state": proposal.state.value,
            "version": proposal.version,
            "by": proposal.by,
            "why": proposal.why,
            "reasons": list(proposal.reasons),
            "bytes": cost.bytes,
            "moves": cost.moves,
            "seconds": cost.seconds,
        },
    )


def finding_events(
    cluster: str, at: float, before: Iterable[Finding], now: Iterable[Finding]
) -> list[Event]:
    """What is new among the findings, and what is gone."""
    old, new = ({each.key: each for each in part} for part in (before, now))
    appeared = [each for key, each in new.items() if key not in old]
    gone = [each for key, each in old.items() if key not in new]
    return [
        *(_finding(EventKind.FINDING, cluster, at, each) for each in appeared),
        *(_finding(EventKind.GONE, cluster, at, each) for each in gone),
    ]


def _finding(kind: EventKind, cluster: str, at: float, each: Finding) -> Event:
    gone = kind is EventKind.GONE
    title = f"{cluster}: {each.kind.value} {'is over' if gone else 'found'}"
    fields = {"finding": each.kind.value, "brokers": list(each.brokers), "since": each.since}
    lines = (each.why,) if gone or not each.answer else (each.why, each.answer)
    return Event(kind, cluster, at, title, lines, {**fields, "why": each.why})


# ---- forms --------------------------------------------------------------------------------------


def message(event: Event, form: WebhookForm) -> Message:
    """The event in the form of a webhook."""
    return {
        WebhookForm.JSON: json_message,
        WebhookForm.SLACK: slack_message,
        WebhookForm.TEAMS: teams_message,
    }[form](event)


def json_message(event: Event) -> Message:
    """For programs: the fields, and the same text as a person gets."""
    return {
        "event": event.kind.value,
        "cluster": event.cluster,
        "at": _moment(event.at),
        **event.fields,
        "text": "\n".join((event.title, *event.lines)),
    }


def slack_message(event: Event) -> Message:
    """Slack's blocks; `text` is what notifications show."""
    body = _slack_text("\n".join(f"• {line}" for line in event.lines))[:TEXT_MAX]
    header = {"type": "plain_text", "text": event.title[:150]}
    return {
        "text": _slack_text(event.title),
        "blocks": [
            {"type": "header", "text": header},
            {"type": "section", "text": {"type": "mrkdwn", "text": body or "–"}},
            {"type": "context", "elements": [{"type": "mrkdwn", "text": _moment(event.at)}]},
        ],
    }


def _slack_text(text: str) -> str:
    """Slack's three control characters as entities, so that no name becomes a link or a mention."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def teams_message(event: Event) -> Message:
    """An adaptive card, as workflows of Teams take it."""
    body = [
        {"type": "TextBlock", "text": event.title, "weight": "Bolder", "wrap": True},
        *({"type": "TextBlock", "text": f"- {line}", "wrap": True} for line in event.lines),
        {"type": "TextBlock", "text": _moment(event.at), "isSubtle": True, "wrap": True},
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "attachments": [attachment]}


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
