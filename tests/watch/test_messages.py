"""Messages of webhooks: plain JSON, and the forms of Slack and Teams."""

import json
from dataclasses import replace

from kedge.watch.findings import Finding, FindingKind
from kedge.watch.messages import finding_events, message, proposal_event
from kedge.watch.policy import WebhookForm
from kedge.watch.proposals import reject
from tests.watch.clusters import NOON, proposal

DOWN = Finding(FindingKind.BROKER_DOWN, NOON, "Broker 4 is down", (4,), "proposal p is open")


def test_plain_json_has_fields_and_the_text() -> None:
    sent = message(proposal_event("orders", proposal()), WebhookForm.JSON)
    assert (sent["event"], sent["state"], sent["bytes"]) == ("proposal", "open", 10**10)
    assert sent["text"].splitlines()[0] == "orders: balance p-balance is open"
    assert "1 moves, 10.0 GB, about 3 min 20 s" in sent["text"]
    assert sent["at"] == "2026-03-28T12:00:00Z"
    json.dumps(sent)


def test_slack_gets_blocks_in_which_names_are_no_markup() -> None:
    odd = replace(proposal(), reasons=("<!channel> & <http://x|y>",))
    sent = message(proposal_event("a<b", odd), WebhookForm.SLACK)
    header, section, context = sent["blocks"]
    assert header["text"]["text"].startswith("a<b: balance")  # plain text is taken as it is
    assert "&lt;!channel&gt; &amp; &lt;http://x|y&gt;" in section["text"]["text"]
    assert context["elements"][0]["text"] == "2026-03-28T12:00:00Z"
    long = replace(proposal(), reasons=("x" * 9000,))
    assert (
        len(message(proposal_event("a", long), WebhookForm.SLACK)["blocks"][1]["text"]["text"])
        <= 3000
    )


def test_teams_gets_an_adaptive_card() -> None:
    rejected = reject(proposal(), "ann", NOON, "not this week")
    sent = message(proposal_event("orders", rejected), WebhookForm.TEAMS)
    card = sent["attachments"][0]["content"]
    assert card["type"] == "AdaptiveCard"
    assert card["body"][0]["text"] == "orders: balance p-balance is rejected"
    assert "- ann: not this week" in [each["text"] for each in card["body"]]


def test_findings_are_told_when_they_appear_and_when_they_are_gone() -> None:
    slow = replace(DOWN, kind=FindingKind.SLOW_BROKER)
    appeared, gone = finding_events("orders", NOON, [slow], [DOWN])
    assert appeared.title == "orders: broker down found"
    assert appeared.lines == ("Broker 4 is down", "proposal p is open")
    assert gone.title == "orders: slow broker is over"
    assert finding_events("orders", NOON, [DOWN], [replace(DOWN, why="longer")]) == []
