"""The simulator of the quorum: nodes in virtual time, with faults of network, disks and clocks.

Goal. Show that the raft machine (`kedge.quorum`) never loses or changes a committed record and
always elects a leader again, whatever fails. The machine is the real one; disks, network, clocks
and the state machine above it are simulated.

    disk        what survives a crash: a node may die before, within and after every durable write
    network     requests and responses with delays, losses, and cuts in one or both directions
    process     a node across restarts, with a clock that runs ahead or behind
    cluster     the nodes together, clients that append and read
    checkers    the invariants, checked after every step of every node
    faults      random faults, and their repair
    mutations   nodes that violate one rule each, to test the checkers
    run         one seed: faults, then convergence

One seed is the whole input, as in `kedge.sim`:

    $ python -m kedge.sim.quorum --seed 3 --trace
"""

from kedge.sim.quorum.run import Outcome, RunSettings, run_seed

__all__ = ["Outcome", "RunSettings", "run_seed"]
