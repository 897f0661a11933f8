"""Timed runs: `python -m bench [section…]` measures, prints a table and rewrites the docs' page.

A section is a module (or package) of this one with a function `run() -> BenchSection`. Every row
of it is a ratio against something measured in the same run on the same machine: Kafka's own code,
or a lower bound such as copying the bytes. A speed that is not compared is not reported.
"""

SECTIONS = (
    "placement",
    "snapshot",
    "controller",
    "balance",
    "pipeline",
    "real_controller",
    "endpoint_attacks",
)
