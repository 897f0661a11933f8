"""Raft as Kafka speaks it (KRaft), as a machine without I/O: a node, an event, the node after it.

Goal. A voter or observer of a KRaft quorum that decides exactly as Kafka's own does, and that one
can read, simulate and compare. The machine has no clock, no randomness, no disk and no network:

    node, ready = start(config, log, election, voters, now=…, draw=…)
    node, ready = step(node, event, now=…, draw=…)

Time comes with each event, random numbers from `draw`, and `next_deadline` says when the next
`Tick` is due. A `Ready` lists what to do: durable writes first, in sequence and synced; after them
requests to send, answers, and what the state machine above is to hear.

What differs from the textbook: followers pull. `Fetch` is replication, acknowledgement and
heartbeat in one; the leader pushes only BeginQuorumEpoch and EndQuorumEpoch. Before a node stands
for election, it asks whether it would win (pre-vote, KIP-996). Voters can change (KIP-853).

    values, messages, log     the values: keys, batches, requests and responses, the log
    roles, transitions        the six states, and the table of what may follow what
    node                      the node, the events, and what a `Ready` holds
    working                   a node in the middle of a step
    elections                 how a node changes its state
    leading, following        the work of a leader and of a follower
    requests, responses       messages of others
    polling                   what a node does by itself when time passes
    connections               requests under way, per peer
    voter_changes, pending_change    adding, removing and updating voters
    step                      the entrance

Worked example: three voters, node 1 has waited for its election timeout.

    event                          state after            Ready
    Tick                           prospective, epoch 0   Vote(pre-vote, epoch 0) to 2 and 3
    granted by 2                   candidate, epoch 1     store (1, voted 1); Vote(epoch 1) to 2, 3
    granted by 3                   leader, epoch 1        store (1, leader 1); append LeaderChange;
                                                          BeginQuorumEpoch to 2 and 3
    Fetch of 2 at offset 1         leader, HW 1           notify commit 0..0, leader 1
"""

from kedge.quorum.polling import next_deadline
from kedge.quorum.step import start, step

__all__ = ["next_deadline", "start", "step"]
