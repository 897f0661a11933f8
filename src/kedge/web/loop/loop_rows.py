"""Proposals, findings, policies and the state of a loop, as documents for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from kedge.apply.this_process import owner_from_text
from kedge.watch.findings import Finding
from kedge.watch.policy import Policy
from kedge.watch.policy_toml import policy_text
from kedge.watch.proposals import ENDED, Proposal, ProposalState
from kedge.watch.storage import finding_to_json
from kedge.watch_runtime import Lead, WatchRecords

Row = dict[str, Any]
OPEN = tuple(state for state in ProposalState if state not in ENDED)


def proposal_row(proposal: Proposal) -> Row:
    """A proposal without its moves."""
    approval = proposal.approval
    return {
        "id": proposal.id,
        "kind": proposal.kind.value,
        "state": proposal.state.value,
        "version": proposal.version,
        "made_at": proposal.made_at,
        "changed_at": proposal.changed_at,
        "started_at": proposal.started_at,
        "ended_at": proposal.ended_at,
        "by": proposal.by,
        "why": proposal.why,
        "reasons": list(proposal.reasons),
        "brokers": list(proposal.subject),
        "partitions": len(proposal.partitions),
        "elections": len(proposal.elect),
        "complete": proposal.complete,
        "cost": {**asdict(proposal.cost), "problems": list(proposal.cost.problems)},
        "bytes_copied": proposal.bytes_copied,
        "approval": None if approval is None else asdict(approval),
        "waits_for": "" if proposal.state in ENDED else proposal.waits_for,
    }


def finding_row(finding: Finding) -> Row:
    """A finding; `remedy` is the kind of proposal that would mend it, if there is one."""
    row = finding_to_json(finding)
    return {**row, "remedy": None if row["remedy"] is None else str(row["remedy"])}


def policy_row(policy: Policy) -> Row:
    """A policy as its text, with addresses masked, and the values that pages show."""
    budget = policy.budget
    return {
        "mode": policy.mode.value,
        "sample_every_s": policy.sample_every_s,
        "cool_down_s": policy.cool_down_s,
        "throttle": policy.throttle,
        "moves_per_broker": policy.moves_per_broker,
        "budget": {
            "bytes_per_day": budget.bytes_per_day,
            "moves_per_day": budget.moves_per_day,
            "windows": [str(window) for window in budget.windows],
            "kinds": sorted(kind.value for kind in budget.kinds),
        },
        "webhooks": len(policy.webhooks),
        "text": policy_text(policy),
    }


def loop_row(records: WatchRecords, *, here: str, now: float) -> Row:
    """The state of a loop: which server leads it, when it looked, and when it looks next."""
    policy, lead = records.policy(), records.lead()
    at, findings = records.findings_at()
    active = records.latest_proposals(100, OPEN)
    running = [each.id for each in active if each.state is ProposalState.RUNNING]
    valid = lead if lead is not None and lead.until > now else None
    return {
        "cluster": records.cluster,
        "mode": policy.mode.value,
        "leader": None if valid is None else leader_row(valid),
        "leads_here": valid is not None and valid.owner == here,
        "sample_every_s": policy.sample_every_s,
        "last_sample_at": at,
        "next_sample_at": None if at is None or valid is None else at + policy.sample_every_s,
        "findings": len(findings),
        "open_proposals": len(active) - len(running),
        "running": running[0] if running else None,
    }


def leader_row(lead: Lead) -> Row:
    """The server that leads: its host and process, and how long its lease is."""
    try:
        owner = owner_from_text(lead.owner)
    except ValueError:
        return {"host": lead.owner, "pid": None, "epoch": lead.epoch, "until": lead.until}
    return {"host": owner.host, "pid": owner.pid, "epoch": lead.epoch, "until": lead.until}
