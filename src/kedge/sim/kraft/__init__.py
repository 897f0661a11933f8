"""The simulator of KRaft: controllers, brokers and an operator in virtual time, with faults.

Goal. Show that the whole controller (`kedge.kraft`: raft below, the metadata machine above) keeps
every request that it has answered, shows nothing that may yet be lost, and goes on after every
fault. The controllers are the real ones; network, disks and clocks are those of `kedge.sim.quorum`.

    controller_process   a controller across restarts; also the metadata half of a broker, which is
                         the same machine as an observer that never leads
    broker_process       a broker: registers, sends heartbeats, changes ISRs, assigns directories
    cluster              all of them, and the operator who sends requests
    operations           the random requests of the operator
    checkers             the invariants of raft, and of what clients and brokers are shown
    snapshots            an image as the bytes of a snapshot
    mutations            controllers that violate one rule each, to test the checkers
    run                  one seed: operations and faults, then convergence

What is checked, beside what `kedge.sim.quorum.checkers` checks of raft:

- A controller's and a broker's image is the replay of the committed log up to its offset.
- An answer comes only when all that was appended before it is committed.
- What a controller lets clients read is the committed image.
- No block of producer ids is given out twice.
- When faults have stopped: every broker is registered and unfenced and has the whole log, every
  partition has a leader and all its replicas in sync, no reassignment is left.

    $ python -m kedge.sim.kraft --seed 3 --trace
"""

from kedge.sim.kraft.run import KraftSettings, run_seed

__all__ = ["KraftSettings", "run_seed"]
