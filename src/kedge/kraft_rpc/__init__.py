"""The requests that a KRaft controller serves, between bytes and values.

Three kinds come in on the controller's listener:

    raft               Vote, Fetch …                     `raft_requests`; `raft_calls` sends
    from brokers       registration, heartbeat, ISRs     `broker_requests`
    from clients       topics, configs, moves …          `topic_requests`, `admin_requests`

Clients' requests come directly, or in an Envelope from the broker that the client has asked: the
request's bytes with the client's principal. `dispatch` unpacks them.

A handler is a script: a generator that yields a request of the core (`kedge.metadata`, or raft's
DescribeQuorum), is handed the answer once it is committed, and returns the response. What only
reads yields nothing.

    def unregister_broker(served: Served, request: Any) -> Script:
        answer = yield UnregisterBroker(request.broker_id)
        return UNREGISTER_BROKER_RESPONSE(error=code_of(answer))
"""

from kedge.kraft_rpc.dispatch import Dispatched, Finished, dispatch
from kedge.kraft_rpc.scripts import Script, Served

__all__ = ["Dispatched", "Finished", "Script", "Served", "dispatch"]
