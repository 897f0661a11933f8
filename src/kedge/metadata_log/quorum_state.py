"""`quorum-state`: the epoch, the vote and the leader, as one line of JSON.

Version 0 belongs to kraft.version 0 and lists the voters, though no one reads them; version 1 has
the directory id of the vote.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from kedge.errors import InvalidRequest
from kedge.metadata_log.files import replace_file
from kedge.quorum.values import Election, ReplicaKey, VoterSet

FILE = "quorum-state"
_ZERO = "AAAAAAAAAAAAAAAAAAAAAA"


def read_election(directory: Path) -> Election:
    """The stored election; epoch 0 without a vote if there is none."""
    path = directory / FILE
    try:
        found: dict[str, Any] = orjson.loads(path.read_bytes())
        return _election(found)
    except FileNotFoundError:
        return Election()
    except (ValueError, KeyError, TypeError) as problem:
        raise InvalidRequest(
            f"{path} cannot be read: {problem}",
            hint="a voter must not forget its vote: restore the file, or remove the voter",
        ) from None


def _election(found: dict[str, Any]) -> Election:
    leader, voted = int(found["leaderId"]), int(found["votedId"])
    directory = found.get("votedDirectoryId", _ZERO)
    key = ReplicaKey(voted, None if directory == _ZERO else directory) if voted >= 0 else None
    return Election(int(found["leaderEpoch"]), leader if leader >= 0 else None, key)


def write_election(
    directory: Path, election: Election, voters: VoterSet, kraft_version: int
) -> None:
    """Store the election durably."""
    leader = -1 if election.leader_id is None else election.leader_id
    voted = -1 if election.voted is None else election.voted.id
    shown: dict[str, Any] = {"leaderId": leader, "leaderEpoch": election.epoch, "votedId": voted}
    if kraft_version == 0:
        ids = [{"voterId": voter} for voter in voters.ids]
        shown = {"clusterId": "", **shown, "appliedOffset": 0, "currentVoters": ids}
    else:
        known = election.voted.directory if election.voted else None
        shown["votedDirectoryId"] = known or _ZERO
    shown["data_version"] = int(kraft_version > 0)
    replace_file(directory / FILE, orjson.dumps(shown))
