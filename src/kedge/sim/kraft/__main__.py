"""Simulate KRaft clusters: `python -m kedge.sim.kraft --seeds 2000`, or one: `--seed 3 --trace`."""

from __future__ import annotations

import sys

from kedge.sim.kraft.mutations import RULES
from kedge.sim.kraft.run import KraftSettings, crash_sweep, run_seed
from kedge.sim.quorum.command import Simulation


def main(arguments: list[str] | None = None) -> int:
    """The command; returns 1 if there was a violation, else 0."""
    return Simulation(
        "python -m kedge.sim.kraft",
        __doc__,
        KraftSettings().steps,
        RULES,
        lambda steps, mutation: KraftSettings(steps=steps, mutation=mutation),
        run_seed,
        crash_sweep,
    ).main(arguments)


if __name__ == "__main__":
    sys.exit(main())
