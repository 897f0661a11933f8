"""The simulator: a whole cluster in one process, in virtual time, from one seed.

Goal. Show that the controller loses nothing and always comes to rest, whatever goes wrong. The
controller and its loop are the real ones (`controller`, `runtime`); brokers, store, network, clock
and people are simulated around them.

Rules.

- One seed is the whole input. Each component draws from a child seed of its own, nothing reads the
  machine's clock, and no order is inherited from a set: a seed gives the same run everywhere.
- Nothing waits. The clock jumps from one thing to the next (`clock`); copying is fluid flow
  (`flows`, `transfers`), so hours of moving data cost a handful of computations.
- What is judged is judged from outside (`truth`, `checkers`): every write to the store and every
  acknowledged record, at the moment it happens.
- First trouble, then rest. Once faults stop, the cluster must settle within a bounded time: every
  partition where it was last sent, all replicas in sync, nothing left behind.
- A checker that never fires proves nothing: rules can be broken on purpose (`broken`).

    run       one seed: work (`workload`) and faults (`faults`, `mishaps`), then rest (`rest`)
    sweep     the controller killed at every yield of every kind of script, one by one
    durable   a cluster whose process can be killed for good, and started again

Worked example:

    $ python -m kedge.sim --seed 3 --trace
       2.284  controller crash at a yield: controller 1002 in 48 yields of anything
       3.080  broker cut off from the store: broker 2 for 10069 ms
      13.705  controller 1002 is killed in on_started › elect:56
      …
     144.683  faults stop
     146.683  settled after 2000 ms
"""

from kedge.sim.clock import Clock
from kedge.sim.faults import NO_FAULTS, Faults
from kedge.sim.flows import fair_rates
from kedge.sim.run import Outcome, Plan, run_seed
from kedge.sim.sweep import SCENARIOS, Killing, Scenario, sweep
from kedge.sim.transfers import Transfers
from kedge.sim.world import Shape, World

__all__ = [
    "NO_FAULTS",
    "SCENARIOS",
    "Clock",
    "Faults",
    "Killing",
    "Outcome",
    "Plan",
    "Scenario",
    "Shape",
    "Transfers",
    "World",
    "fair_rates",
    "run_seed",
    "sweep",
]
