"""What simulated servers share: the policy, the history, proposals, and the lease of the lead.

It stands for the database of the server. A write is made only by the holder of the lease, in its
epoch; a proposal is replaced only in the version that was read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kedge.errors import WriterFenced
from kedge.watch.findings import Finding
from kedge.watch.policy import Policy
from kedge.watch.proposals import ENDED, Proposal
from kedge.watch.samples import Sample

LEASE_S = 120.0


@dataclass(slots=True)
class Lease:
    """Which server leads the loop, in which epoch, until when."""

    owner: str = ""
    epoch: int = 0
    until: float = 0.0


class SimStore:
    """The database."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.lease = Lease()
        self.history: list[Sample] = []
        self.proposals: dict[str, Proposal] = {}
        self.begun: set[str] = set()
        self.findings: tuple[Finding, ...] = ()
        self.waiting: tuple[tuple[str, str], ...] = ()
        self.on_proposal: Callable[[Proposal | None, Proposal], None] = lambda old, new: None

    def acquire(self, owner: str, now: float) -> int | None:
        """Take or renew the lead; returns its epoch, or None while another server has it."""
        lease = self.lease
        if lease.owner != owner and now < lease.until:
            return None
        if lease.owner != owner or now >= lease.until:
            lease.owner, lease.epoch = owner, lease.epoch + 1
        lease.until = now + LEASE_S
        return lease.epoch

    def check(self, owner: str, epoch: int, now: float) -> None:
        """Refuse the write of a server that was replaced.

        Raises:
            WriterFenced: another server leads by now.
        """
        if (self.lease.owner, self.lease.epoch) != (owner, epoch):
            raise WriterFenced(f"{owner} led in epoch {epoch}, now is {self.lease.epoch}")
        if now >= self.lease.until:
            raise WriterFenced(f"the lease of {owner} has run out")

    def record(self, sample: Sample, since: float) -> list[Sample]:
        """Append a sample; returns the history up to it, in the sequence of time."""
        self.history.append(sample)
        found = [each for each in self.history if since <= each.at <= sample.at]
        return sorted(found, key=lambda each: each.at)

    def replace(self, proposal: Proposal) -> bool:
        """Store a proposal that follows the stored version."""
        old = self.proposals.get(proposal.id)
        if (old.version if old else 0) != proposal.version - 1:
            return False
        self.on_proposal(old, proposal)
        self.proposals[proposal.id] = proposal
        return True

    def begin(self, proposal: Proposal) -> bool:
        """Mark a run as begun, if the proposal is still stored in this version."""
        if self.proposals[proposal.id].version != proposal.version:
            return False
        self.begun.add(proposal.id)
        return True

    def take_back(self, proposal_id: str) -> None:
        """Remove the marker of a run that did not begin."""
        self.begun.discard(proposal_id)

    def recent(self, since: float) -> list[Proposal]:
        """Proposals that are not ended, and those that ended since."""
        return [
            each
            for each in self.proposals.values()
            if each.state not in ENDED or each.changed_at >= since
        ]
