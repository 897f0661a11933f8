"""Timed runs: `python -m bench [section…]` measures, prints a table and rewrites the docs' page.

A section is a module with a function `run() -> BenchSection`, listed in `SECTIONS`. Every row of
it is a ratio against something measured in the same run on the same machine: Kafka's own code,
or a lower bound such as copying the bytes. A speed that is not compared is not reported.
"""

# the module of each section
SECTIONS = {
    "placement": "bench.placement",
    "snapshot": "bench.snapshot",
    "controller": "bench.controller",
    "balance": "bench.balance",
    "pipeline": "bench.pipeline.ingest",
    "rollup": "bench.pipeline.rollup",
    "metrics": "bench.metrics",
    "real_controller": "bench.real_controller",
    "kraft_controller": "bench.kraft_controller",
    "startup": "bench.startup",
    "prediction": "bench.prediction",
    "forecast": "bench.forecast",
    "endpoint_attacks": "bench.endpoint_attacks",
    "serve": "bench.serve",
}
