"""Simulate quorums: `python -m kedge.sim.quorum --seeds 2000`, or one: `--seed 3 --trace`."""

from __future__ import annotations

import sys

from kedge.sim.quorum.command import Simulation
from kedge.sim.quorum.mutations import MUTATIONS
from kedge.sim.quorum.run import RunSettings, crash_sweep, run_seed


def main(arguments: list[str] | None = None) -> int:
    """The command; returns 1 if there was a violation, else 0."""
    return Simulation(
        "python -m kedge.sim.quorum",
        __doc__,
        RunSettings().steps,
        MUTATIONS,
        lambda steps, mutation: RunSettings(steps=steps, mutation=mutation),
        run_seed,
        crash_sweep,
    ).main(arguments)


if __name__ == "__main__":
    sys.exit(main())
