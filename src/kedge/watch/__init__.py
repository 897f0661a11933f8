"""Watches clusters: finds what is wrong, proposes plans, and runs what the policy allows.

Goal. An operator wakes up to a proposal with its reasons and its cost, never to a surprise. So a
proposal is frozen and shown before anything moves, what runs by itself is limited by a budget, and
nothing runs while something is wrong that the plan does not mend.

    policy          what is looked for, and what may run by itself; `policy_toml` reads it strictly
    samples         a small record of the cluster per moment: the history
    detectors       from the history to findings (`disk_detectors`, `load_detectors`)
    remedies        from findings to the goals of a plan
    make_proposals  plan, prediction, cost and reasons: a proposal
    proposals       the states of a proposal, as a table
    staleness       when a proposal no longer fits the cluster
    rules           why a proposal may not start now
    loop            the script of one sample, which yields effects; `effects` lists them
    messages        events for webhooks: JSON, Slack, Teams

The package does no I/O and has no clock. `kedge.watch_runtime` carries the effects out on real
clusters, `kedge.sim.watch` on simulated ones, where servers die at every `yield`.

Worked example, policy `auto` with 500 GB a day from 01:00 to 05:00:

    12:00  broker 4 stops                 sample: 4 is down
    12:15  down for 15 minutes            finding: broker down
           MakePlan, Predict              proposal: repair, 210 GB, 1 h 10 min
           outside of window 01:00-05:00  it waits; a person may approve it at once
    01:00  the window opens               stored as running, then started
    02:12  the run has ended              done; 290 GB of the budget are left until 02:12
"""

from kedge.watch.detectors import detect
from kedge.watch.findings import Finding, FindingKind
from kedge.watch.loop import Looked, Memory, watch_once
from kedge.watch.policy import Budget, Detection, Kind, Mode, Policy
from kedge.watch.policy_toml import parse_policy, policy_text
from kedge.watch.proposals import Proposal, ProposalState, approve, reject
from kedge.watch.rules import RULES
from kedge.watch.samples import BrokerSample, Observed, Sample, sample_of

__all__ = [
    "RULES",
    "BrokerSample",
    "Budget",
    "Detection",
    "Finding",
    "FindingKind",
    "Kind",
    "Looked",
    "Memory",
    "Mode",
    "Observed",
    "Policy",
    "Proposal",
    "ProposalState",
    "Sample",
    "approve",
    "detect",
    "parse_policy",
    "policy_text",
    "reject",
    "sample_of",
    "watch_once",
]
