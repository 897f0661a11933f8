"""The simulator of the watch loop: clusters, servers and operators in virtual time, with faults.

Goal. Show that the loop (`kedge.watch`) keeps its promises whatever fails: never two runs at once,
never outside of a window, never over the budget, never while something is wrong that the plan does
not mend, no move undone within the cool-down; and that what is wrong is mended once faults stop.

    cluster     brokers and partitions that grow, fail and move; one run at a time copies data
    planner     a small planner that keeps the goals; some seeds use the real one
    store       what servers share: policy, history, proposals, the lease of the lead
    server      a process that runs the real script, and dies or stalls at any yield
    operator    approves, rejects, and changes the policy
    faults      brokers that die, return and join; foreign reassignments; runs that fail
    checkers    the promises, checked at every start, move and stored proposal
    mutations   loops that break one rule each, to test the checkers
    run         one seed: faults, then convergence

One seed is the whole input, as in `kedge.sim`:

    $ python -m kedge.sim.watch --seed 3 --trace
"""

from kedge.sim.watch.run import Outcome, RunSettings, run_seed

__all__ = ["Outcome", "RunSettings", "run_seed"]
