"""Cpu models of snapshots, fitted to what brokers measured; of live metrics, or of tables.

A snapshot's model is in percent of a broker's cpu. Cruise Control tells the share of the machine.
`process_cpu_seconds_total` tells cores, and the stock rules of exporters do not tell how many a
broker has: percent are then those of one core, alike for all brokers. What is used without traffic
is no load.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from kedge.metrics.attribution.brokers import broker_traffic
from kedge.metrics.attribution.cpu import CpuModel as FittedCpu
from kedge.metrics.attribution.cpu import fit_cpu
from kedge.metrics.measurement import SCHEMA, Series
from kedge.metrics.origins import choose_origins
from kedge.model import CpuModel
from kedge.model.arrow import Table, arrow, compute
from kedge.pipeline.table_reader import Tables

BROKERS: Final = "measurements/brokers"
RECENT_MS: Final = 6 * 3_600_000  # what a fit reads: enough rows, and bounded in memory
_SERIES: Final = (
    *(Series.UP, Series.CPU, Series.CPU_SECONDS),
    *(Series.BYTES_IN, Series.BYTES_IN_RATE, Series.BYTES_OUT, Series.BYTES_OUT_RATE),
    *(Series.REPLICATION_IN, Series.REPLICATION_IN_RATE),
    *(Series.REPLICATION_OUT, Series.REPLICATION_OUT_RATE),
)


def fitted_cpu(measured: Table) -> FittedCpu | None:
    """The best fit of any origin; the table has measurements of brokers, `origin` and `replica`."""
    origins = compute().unique(measured.column("origin")).to_pylist()
    of_origin = (
        measured.filter(compute().equal(measured.column("origin"), origin)) for origin in origins
    )
    fits = (_fit(choose_origins(table)[0]) for table in of_origin)
    return max((fit for fit in fits if fit is not None), key=lambda f: f.r_squared, default=None)


def _fit(measured: Table) -> FittedCpu | None:
    return fit_cpu(_all_out(broker_traffic(measured.select(SCHEMA.names))))


def _all_out(traffic: Table) -> Table:
    """Bytes to clients and to followers as one column: snapshots have one cost for both."""
    pc = compute()
    served = pc.add(traffic["bytes_out"], pc.fill_null(traffic["replication_out"], 0.0))
    none = arrow().nulls(len(traffic), arrow().float64())
    for name, column in (("bytes_out", served), ("replication_out", none)):
        traffic = traffic.set_column(traffic.column_names.index(name), name, column)
    return traffic


def model_for_plans(cpu: FittedCpu | None) -> CpuModel | None:
    """The model of a snapshot; None where the fit is not good enough for plans."""
    if cpu is None or not cpu.good:
        return None
    costs = (cpu.per_byte_in, cpu.per_byte_out, cpu.per_byte_replication_in)
    return CpuModel(*(100 * cost for cost in costs))


def cpu_model_of_tables(tables: Tables, cluster: str, until: datetime | None) -> CpuModel | None:
    """The model of a cluster by its last hours of measurements before a moment."""
    if until is None or not tables.has(BROKERS):
        return None
    end_ms = int(until.timestamp() * 1000) + tables.settings.window_s * 1000
    where = [
        ("cluster", "=", cluster),
        ("series", "in", [str(series) for series in _SERIES]),
        ("ts_ms", ">=", end_ms - RECENT_MS),
        ("ts_ms", "<", end_ms),
    ]
    rows = tables.read(BROKERS, [*SCHEMA.names, "origin", "replica"], where=where)
    return model_for_plans(fitted_cpu(rows)) if len(rows) else None
