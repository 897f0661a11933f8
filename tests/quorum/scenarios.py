"""Random scenarios for one node, in the form of the `raft` vectors without the answers.

Kedge's node plays along while a scenario is drawn, so that most steps fit its state: replies go to
requests that are open, fetches name offsets near the log's end. Some steps fit nothing on purpose.
"""

from __future__ import annotations

import random
from typing import Any

from kedge.quorum.roles import Leader
from tests.conformance.compare import Case
from tests.conformance.raft_kinds import Played
from tests.conformance.raft_view import api_of

STEPS_MAX = 25
ERRORS = (
    "NONE",
    "FENCED_LEADER_EPOCH",
    "NOT_LEADER_OR_FOLLOWER",
    "UNKNOWN_LEADER_EPOCH",
    "BROKER_NOT_AVAILABLE",
    "INVALID_VOTER_KEY",
    "UNKNOWN_SERVER_ERROR",
)
PAUSES = (1, 10, 20, 30, 100, 500, 600, 1000, 1250, 1300, 2000, 2100, 3000, 3100)


def drawn(seed: int, steps_max: int = STEPS_MAX) -> Case:
    """A scenario that depends on the seed alone."""
    rng = random.Random(seed)
    settings = _settings(rng)
    scenario = Scenario(rng, settings)
    for _ in range(rng.randint(4, steps_max)):
        if not scenario.go_on():
            break
    return {
        "id": f"seed-{seed}",
        "kind": "raft",
        "family": "drawn",
        "about": "drawn",
        "settings": settings,
        "steps": scenario.steps,
    }


def _settings(rng: random.Random) -> dict[str, Any]:
    voters = rng.choice([[1], [1, 2], [1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3, 4, 5], [2, 3]])
    settings: dict[str, Any] = {"node": 1, "voters": voters}
    epoch = 0
    if rng.random() < 0.5:
        parts: list[list[int]] = []
        for _ in range(rng.randint(1, 3)):
            epoch += rng.randint(0 if parts else 1, 2)
            parts.append([epoch, rng.randint(1, 4)])
        settings["log"] = parts
    if epoch or rng.random() < 0.3:
        stored: dict[str, Any] = {"epoch": max(0, epoch + rng.choice([-1, 0, 0, 0, 1, 2]))}
        kind = rng.random()
        if kind < 0.3:
            stored["leader"] = rng.choice([*voters, 1, 9])
        elif kind < 0.5:
            stored["voted"] = rng.choice([*voters, 9])
        settings["stored"] = stored
    if rng.random() < 0.4:
        settings["jitter"] = rng.choice([0, 1, 2, 500, 999])
    return settings


class Scenario:
    """A scenario while it is drawn."""

    def __init__(self, rng: random.Random, settings: dict[str, Any]) -> None:
        self._rng = rng
        self._voters = settings["voters"]
        self._grants = rng.choice([0.2, 0.6, 0.95])
        self._follows = rng.choice([0.1, 0.5, 0.9])  # how often an unknown leader is told of
        self._played = Played(settings)
        self.steps: list[dict[str, Any]] = []
        self._perform({"op": "start"})

    def go_on(self) -> bool:
        """Draw and play a step; False when the node has stopped."""
        step = self._step()
        self.steps.append(step)
        return self._perform(step)

    def _perform(self, step: dict[str, Any]) -> bool:
        return "dies" not in self._played.perform(step)

    def _step(self) -> dict[str, Any]:
        rng, leads = self._rng, isinstance(self._played.node.role, Leader)
        kind = rng.random()
        if kind < 0.2:
            return {"op": "advance", "ms": rng.choice(PAUSES)}
        if self._played.open and kind < (0.3 if leads else 0.65):
            return self._reply()
        if leads and kind < 0.45:
            return self._append()
        if leads and kind < 0.48:
            return {"op": "resign", **({"epoch": rng.randint(0, 4)} if rng.random() < 0.3 else {})}
        if not leads and kind > 0.98:
            return self._append()
        return self._request()

    def _append(self) -> dict[str, Any]:
        rng = self._rng
        step: dict[str, Any] = {"op": "append", "records": ["a", "b", "c"][: rng.randint(0, 3)]}
        if rng.random() < 0.15:
            step["epoch"] = max(0, self._epoch() + rng.choice([-1, 1]))
        return step

    def _epoch(self) -> int:
        return self._played.node.role.epoch

    def _near(self, value: int) -> int:
        return max(0, value + self._rng.choice([-2, -1, 0, 0, 0, 0, 0, 0, 1, 2]))

    # --------------------------------------------------------------------------------- replies

    def _reply(self) -> dict[str, Any]:
        rng = self._rng
        sent = rng.choice(self._played.open[-4:])
        api = api_of(sent.message)
        step: dict[str, Any] = {"op": "reply", "api": api, "from": sent.peer}
        if rng.random() < 0.08 or api == "FetchSnapshot":
            return {**step, "op": "fail"}
        same = [other for other in self._played.open if api_of(other.message) == api]
        if rng.random() < 0.05 and len(same) == 1:  # which of several is newest is Kafka's habit
            del step["from"]
        if rng.random() < 0.12:
            step["partition_error"] = rng.choice(ERRORS)
        if rng.random() < 0.15:
            step["epoch"] = self._near(self._epoch())
        leader = self._leader(sent.peer)
        if leader is not None:
            step["leader"] = leader
        if api == "Vote":
            step["granted"] = rng.random() < self._grants
            if rng.random() < 0.05:
                step["error"] = rng.choice(["UNSUPPORTED_VERSION", "BROKER_NOT_AVAILABLE"])
        if api == "Fetch":
            self._fetched(step, sent.peer)
        return step

    def _leader(self, peer: int) -> int | None:
        """Mostly what agrees with the node, since two leaders in an epoch end it."""
        rng, known = self._rng, self._played.node.role.leader_id
        if known is not None and rng.random() < 0.97:
            return known
        if known is None and rng.random() < 0.8:
            return None
        return rng.choice([peer, *self._voters, 9])

    def _fetched(self, step: dict[str, Any], peer: int) -> None:
        rng, log = self._rng, self._played.node.log
        if self._played.node.role.leader_id is None and rng.random() < self._follows:
            step["leader"] = 2 if peer == 1 else peer
            step["epoch"] = self._epoch() + rng.randint(0, 1)
        if "leader" not in step and rng.random() < 0.97:
            step["partition_error"] = "NOT_LEADER_OR_FOLLOWER"
        kind = rng.random()
        if kind < 0.12:
            step["diverging"] = [self._near(log.last_epoch), self._near(log.end)]
        elif kind < 0.15:
            step["snapshot"] = [self._near(log.end + 1), self._near(log.last_epoch)]
        else:
            end = log.end
            if rng.random() < 0.6:
                count = rng.randint(1, 3)
                step["records"] = [self._near(self._epoch()), count]
                end += count
            if rng.random() < 0.85:
                high_watermark = rng.choice(
                    [end, end, log.end, log.high_watermark, self._near(end)]
                )
                step["high_watermark"] = high_watermark

    # --------------------------------------------------------------------------------- requests

    def _request(self) -> dict[str, Any]:
        rng, role = self._rng, self._played.node.role
        sender = rng.choice([*self._voters, *self._voters, 2, 3, 9])
        if sender == 1 and rng.random() < 0.95:
            sender = 2
        leads = isinstance(role, Leader)
        names = {
            "Fetch": 12 if leads else 2,
            "Vote": 3 if leads else 6,
            "BeginQuorumEpoch": 1 if leads else 4,
            "EndQuorumEpoch": 1 if leads else 2,
            "DescribeQuorum": 1,
            "UpdateRaftVoter": 1 if leads else 0.3,
            "AddRaftVoter": 0.3,
            "RemoveRaftVoter": 0.3,
            "FetchSnapshot": 0.4,
        }
        api = rng.choices(list(names), list(names.values()))[0]
        step: dict[str, Any] = {"op": "request", "api": api, "from": sender}
        if rng.random() < 0.02:
            step["cluster"] = "another-cluster-000000"
        if rng.random() < 0.03:
            step["version"] = rng.choice([0, 1, 15])
        getattr(self, f"_{api}")(step)
        return step

    def _Fetch(self, step: dict[str, Any]) -> None:
        rng, log = self._rng, self._played.node.log
        step["epoch"] = self._epoch() if rng.random() < 0.93 else self._near(self._epoch())
        step["offset"] = rng.choice([log.end, log.end, self._near(log.end), rng.randint(0, 5)])
        starts = [start.epoch for start in log.epochs] or [0]
        step["last_epoch"] = rng.choice([log.last_epoch, log.last_epoch, *starts])
        if step["offset"] == 0:
            step["last_epoch"] = 0
        if rng.random() < 0.1:
            step["last_epoch"] = self._near(step["last_epoch"])
        if rng.random() < 0.6:
            step["max_wait"] = rng.choice([500, 500, 100, -1, 2500])
        if rng.random() < 0.3:
            step["high_watermark"] = rng.choice([-1, log.high_watermark, self._near(log.end)])

    def _Vote(self, step: dict[str, Any]) -> None:
        rng, log = self._rng, self._played.node.log
        pre_vote = rng.random() < 0.5
        step["epoch"] = max(0, self._epoch() + rng.choice([-1, 0, 0, 0, 1, 1, 2]))
        step["last_epoch"] = rng.choice(
            [log.last_epoch, log.last_epoch, self._near(log.last_epoch)]
        )
        step["end"] = rng.choice([log.end, log.end, self._near(log.end)])
        if pre_vote:
            step["pre_vote"] = True
        if rng.random() < 0.04:
            step.update(rng.choice([{"voter": 2}, {"wrong_dir": True}, {"partition": 1}]))
        if rng.random() < 0.02:
            step["voter"] = -1

    def _BeginQuorumEpoch(self, step: dict[str, Any]) -> None:
        rng, known = self._rng, self._played.node.role.leader_id
        step["epoch"] = max(0, self._epoch() + rng.choice([-1, 0, 0, 0, 1, 1, 2]))
        if step["epoch"] == self._epoch() and known is not None and rng.random() < 0.97:
            if known == 1:
                step["epoch"] += 1
            else:
                step["from"] = known
        if step["from"] == 1 and rng.random() < 0.95:
            step["epoch"] += 1
            step["from"] = 2
        if rng.random() < 0.03:
            step["voter"] = 2

    def _EndQuorumEpoch(self, step: dict[str, Any]) -> None:
        self._BeginQuorumEpoch(step)
        step.pop("voter", None)
        step["preferred"] = self._rng.sample([1, 2, 3, 4], self._rng.randint(0, 4))

    def _UpdateRaftVoter(self, step: dict[str, Any]) -> None:
        self._RemoveRaftVoter(step)
        step["epoch"] = self._epoch() if self._rng.random() < 0.9 else self._near(self._epoch())

    def _AddRaftVoter(self, step: dict[str, Any]) -> None:
        if step["from"] == 1:
            step["from"] = 2

    _RemoveRaftVoter = _AddRaftVoter

    def _DescribeQuorum(self, step: dict[str, Any]) -> None:
        step.pop("cluster", None)

    def _FetchSnapshot(self, step: dict[str, Any]) -> None:
        step["epoch"] = self._near(self._epoch())
        step["end"], step["last_epoch"] = self._rng.randint(0, 3), self._rng.randint(0, 3)
