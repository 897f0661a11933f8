"""Changes of the voter set that an administrator asks for through a broker (KIP-853).

Directly at a controller these are requests of raft like all others. A broker forwards them in an
Envelope, and so they have handlers too.
"""

from __future__ import annotations

from typing import Any

from kedge.kraft_rpc.raft_requests import message_of_request
from kedge.kraft_rpc.scripts import Handlers, Script, Served
from kedge.protocol.kraft_apis import ADD_VOTER, REMOVE_VOTER
from kedge.protocol.quorum_messages import VOTER_CHANGE_RESPONSE


def add_voter(served: Served, request: Any, version: int) -> Script:
    """AddRaftVoter: an observer becomes a voter."""
    answer = yield message_of_request(ADD_VOTER.key, request, version)
    return VOTER_CHANGE_RESPONSE(error=answer.error, message=answer.message or None)


def remove_voter(served: Served, request: Any, version: int) -> Script:
    """RemoveRaftVoter: a voter becomes an observer."""
    answer = yield message_of_request(REMOVE_VOTER.key, request, version)
    return VOTER_CHANGE_RESPONSE(error=answer.error, message=answer.message or None)


HANDLERS: Handlers = {ADD_VOTER.key: add_voter, REMOVE_VOTER.key: remove_voter}
