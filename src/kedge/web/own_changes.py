"""What a server changes without a request, for the audit: runs of the loop, policies, first tokens.

There is no address of a client and no status of an answer: the source is the host of the server,
and the status is 0.
"""

from __future__ import annotations

import tomllib
from typing import Any

from sqlalchemy import Connection

from kedge.apply.this_process import this_process
from kedge.watch.policy import Policy
from kedge.watch.policy_toml import policy_text
from kedge.watch.proposals import LOOP, Proposal, ProposalState
from kedge.watch_runtime import OnChange
from kedge.web.access.accounts import ADMINISTRATOR, OPERATOR, NewToken
from kedge.web.audit import Audit, AuditEntry, AuditOutcome

NO_ANSWER = 0
SETTINGS = "the settings"


def own_entry(who: str, action: str, **rest: Any) -> AuditEntry:
    """A change by this server."""
    outcome = rest.pop("outcome", AuditOutcome.DONE)
    return AuditEntry(who, this_process().host, action, outcome, NO_ANSWER, **rest)


def auditing_runs(audit: Audit, cluster: str) -> OnChange:
    """Appends starts and ends of runs in the transactions that store them."""

    def on_change(connection: Connection, before: ProposalState, proposal: Proposal) -> None:
        if ProposalState.RUNNING in (before, proposal.state):
            audit.write_in(connection, run_entry(cluster, before, proposal))

    return on_change


def run_entry(cluster: str, before: ProposalState, proposal: Proposal) -> AuditEntry:
    """The start or the end of the run of a proposal; one that did not begin has failed."""
    starts = proposal.state is ProposalState.RUNNING
    went_well = starts or proposal.state is ProposalState.DONE
    copied = {} if proposal.bytes_copied is None else {"bytes_copied": proposal.bytes_copied}
    return own_entry(
        LOOP if proposal.approval is None else proposal.approval.by,
        "run.start" if starts else "run.end",
        outcome=AuditOutcome.DONE if went_well else AuditOutcome.FAILED,
        cluster=cluster,
        target=f"proposal {proposal.id}",
        detail="" if went_well else proposal.why,
        before={"state": before.value},
        after={"state": proposal.state.value, **copied},
    )


def policy_entry(cluster: str, before: Policy, after: Policy) -> AuditEntry:
    """A policy that the settings have changed: the settings that differ, addresses masked."""
    old, new = _flat(before), _flat(after)
    differ = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return own_entry(
        SETTINGS,
        "policy.change",
        cluster=cluster,
        target="policy",
        before={name: old.get(name) for name in differ},
        after={name: new.get(name) for name in differ},
    )


def _flat(policy: Policy) -> dict[str, Any]:
    """The settings of a policy as its text has them, those of a table as `table.name`."""
    settings = tomllib.loads(policy_text(policy))
    tables: dict[str, dict[str, Any]] = {name: settings.pop(name) for name in ("budget", "detect")}
    inner = {f"{name}.{each}": table[each] for name, table in tables.items() for each in table}
    return {**settings, **inner}


def token_entry(token: NewToken) -> AuditEntry:
    """A token of an administrator that the command line has made."""
    grants = {cluster: str(role) for cluster, role in ADMINISTRATOR.items()}
    made = {"id": token.id, "name": "admin", "grants": grants}
    return own_entry(OPERATOR, "token.create", target=f"token {token.id}", after=made)
