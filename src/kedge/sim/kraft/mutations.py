"""Controllers that violate one rule each, to test the checkers: a run with one must be caught."""

from __future__ import annotations

from dataclasses import dataclass, field

from kedge.kraft import Controller, Reply
from kedge.metadata import Image
from kedge.sim.quorum.mutations import CommitWithoutMajority, Mutation, SkipSync, VoteTwice


class AnswersBeforeCommit(Controller):
    """Answers as soon as it has decided."""

    def _answer_when_committed(self, reply: Reply) -> None:
        self._work.replies.append(reply)


class ServesUncommitted(Controller):
    """Lets clients read what it has appended."""

    @property
    def stable(self) -> Image:
        """The newest image."""
        return self._timeline.newest


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules by which the controllers of a run go."""

    raft: Mutation = field(default_factory=Mutation)
    controller: type[Controller] = Controller


RULES: dict[str, Rules] = {
    "": Rules(),
    "vote_twice": Rules(VoteTwice()),
    "commit_without_majority": Rules(CommitWithoutMajority()),
    "skip_fsync": Rules(SkipSync()),
    "serve_uncommitted": Rules(controller=ServesUncommitted),
    "answer_before_commit": Rules(controller=AnswersBeforeCommit),
}
