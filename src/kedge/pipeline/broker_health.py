"""The table `gold/broker_health`: latencies and flush times, one row per broker and time.

Defined here only: jobs write it with `SPARK_SCHEMA`, and `load_reader` reads it. Times are those of
the measurement, values are milliseconds (the mean or the median that the source gives), null where
the source has none. Sources without these series leave the table out.
"""

from __future__ import annotations

from typing import Final

from kedge.analytics.slow_brokers import MEASUREMENTS

TABLE: Final = "gold/broker_health"
COLUMNS: Final = {
    "cluster": "string",
    "broker": "int",
    "ts": "timestamp",
    **dict.fromkeys(MEASUREMENTS, "double"),
}
SPARK_SCHEMA: Final = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
