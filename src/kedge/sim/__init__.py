"""The simulator: a cluster in one process and in virtual time, with random faults from one seed.

Goal. Show that the controller loses no records and always converges, whatever fails. The controller
and its loop are the real ones (`controller`, `runtime`); brokers, store, network, clock and
operators are simulated.

    clock, rng, network      virtual time, random numbers, calls between nodes
    bandwidth, transfers, fair_rates    disks, links and throttles as shared resources
    broker_machine, broker_environment  a broker across restarts, and what its process calls
    broker_links             the controllers' links to brokers
    cluster_metadata         the content of the store as values
    simulated_cluster        all of these together; also the base of the lab
    checked_cluster          the same with checkers, counts and a trace
    cluster_under_test       the same with controllers and a workload
    controller_machine       a controller process that is killed or paused at any yield
    operator, topic_operations, move_operations, workload    operations on the cluster
    fault_injection          random faults, and their repair
    checkers, expectations   invariants, and the acceptable outcomes of requests
    convergence              conditions of a cluster without pending work
    run, coverage, report    one run of one seed; counts and summaries of many runs
    crash_sweep              the controller killed at every yield of every kind of script
    mutations                controllers that violate a rule, to test the checkers

Rules.

- One seed is the whole input. Each component draws from a generator of its own, no component reads
  the machine's clock, and no order depends on a set: a seed gives the same run on every machine.
- Nothing waits: the clock jumps from one timer to the next. Copies are computed as flows, so hours
  of moving data cost a few computations.
- Checkers see every write to the store and every acknowledged record at the moment it happens.
- Once faults stop, the cluster must converge within a bounded time: every partition has the
  requested replicas, all in sync, and nothing is left over.

Worked example:

    $ python -m kedge.sim --seed 3 --trace
       2.284  controller crash at a yield: controller 1002 in 48 yields of any event
       3.080  broker cut off from the store: broker 2 for 10069 ms
      13.705  controller 1002 is killed in on_started › elect:56
      …
     144.683  faults stop
     146.683  converged after 2000 ms
"""

from kedge.sim.checked_cluster import ClusterShape
from kedge.sim.clock import Clock
from kedge.sim.cluster_under_test import ClusterUnderTest
from kedge.sim.crash_sweep import SCENARIOS, CrashRun, Scenario, sweep
from kedge.sim.fair_rates import fair_rates
from kedge.sim.fault_injection import NO_FAULTS, FaultSettings
from kedge.sim.run import Outcome, RunSettings, run_seed
from kedge.sim.transfers import Transfers

__all__ = [
    "NO_FAULTS",
    "SCENARIOS",
    "Clock",
    "ClusterShape",
    "ClusterUnderTest",
    "CrashRun",
    "FaultSettings",
    "Outcome",
    "RunSettings",
    "Scenario",
    "Transfers",
    "fair_rates",
    "run_seed",
    "sweep",
]
