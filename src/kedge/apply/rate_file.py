"""The file of rates that runs on a cluster have measured: read for predictions, kept by runs.

It is beside the runs of its cluster. Runs that are kept in the cluster have it on the machine that
carries them out, in the usual directory of runs: rates only make predictions better, and a
prediction from a snapshot has no connection to the cluster.

The newest `KEPT` records stay. The file is written as a whole or not at all; two runs at once (with
`--take-over`, or of two places of runs) may lose the record of one of them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from kedge.apply.outcome import Pacing
from kedge.apply.run_port import Run, RunStore
from kedge.apply.run_store import Runs, default_state
from kedge.errors import KedgeError, MalformedInput
from kedge.execution import Work
from kedge.execution.prediction.learned_rates import RateRecord, rate_line, read_rates
from kedge.execution.rate_meter import RateMeter, Throttles
from kedge.files import path_component, read_bytes, with_path_context, write_atomically

RATES = "rates.jsonl"
KEPT = 200


def measured_rates(state: Path, cluster_id: str | None) -> list[RateRecord]:
    """What earlier runs have measured; nothing where there is no such file."""
    return [] if cluster_id is None else _read(state / path_component(cluster_id) / RATES)


def _read(path: Path) -> list[RateRecord]:
    if not path.is_file():
        return []
    data = read_bytes(path)
    with with_path_context(path):
        return read_rates(data)


def rates_path(runs: RunStore) -> Path:
    """Where the rates of a cluster are kept, given where its runs are."""
    if isinstance(runs, Runs):
        return Path(runs.place) / RATES
    return default_state() / path_component(runs.cluster_id) / RATES


def keep_rates(path: Path, record: RateRecord) -> None:
    """Add a record; the oldest ones go. A file that cannot be read is started anew."""
    try:
        before = _read(path)
    except MalformedInput:
        before = []
    kept = [*before, record][-KEPT:]
    with with_path_context(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomically(path, b"".join(map(rate_line, kept)))


@contextmanager
def learning_rates(runs: RunStore, pacing: Pacing) -> Generator[Pacing]:
    """Measure the run within the block, however it ends, and keep what it has reached.

    Yields the pacing to run with. A run whose throttle was the limit measures nothing.
    """
    meter, at_work = RateMeter(), list[Run]()

    def begin(run: Run) -> None:
        at_work.append(run)
        pacing.on_run(run)

    def observe(work: Work) -> None:
        for run in at_work:
            record = runs.record_of(run)
            throttles = Throttles(record.rate, record.steering.log_dir_rate)
            meter.at(pacing.clock(), work, throttles)
        pacing.on_work(work)

    try:
        yield replace(pacing, on_run=begin, on_work=observe)
    finally:
        if meter.network is not None or meter.disk is not None:
            record = RateRecord(pacing.now(), meter.network, meter.disk)
            try:
                keep_rates(rates_path(runs), record)
            except KedgeError as fault:  # the run itself has ended as it has
                pacing.on_note(f"measured rates are not kept: {fault.what}")
