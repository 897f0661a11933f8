"""Rates and owners of `kedge cost`: TOML files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

from kedge.analytics.cost import RESOURCES, Usage, parse_rates, priced
from kedge.analytics.owners import parse_owners
from kedge.files.toml_files import read_toml
from tests.fuzz.driver import only_refusals, start
from tests.fuzz.mutation import mutated_bytes

RATES = b"""currency = "EUR"
[per_gb]
in = 0.01
out = 2e-2
replication = 5
stored_month = 0.08
"""
OWNERS = b"""[web]
topics = ["clicks"]
prefixes = ["view.", "shop"]
[shop]
globs = ["order*", "[a-z]?"]
"""


def fuzz(seed: int) -> None:
    """Price a topic with files of which at least one is damaged."""
    random = Random(seed)
    with tempfile.TemporaryDirectory() as directory, only_refusals():
        paths = [Path(directory, name) for name in ("rates.toml", "owners.toml")]
        for path, whole in zip(paths, (RATES, OWNERS), strict=True):
            path.write_bytes(mutated_bytes(whole, random, most=3))
        rates, owners = parse_rates(read_toml(paths[0])), parse_owners(read_toml(paths[1]))
        usage = Usage("c", "orders", "2026-01-05", dict.fromkeys(RESOURCES, 10**18))
        (cell,) = priced([usage], rates, owners)
        assert cell.total >= 0


if __name__ == "__main__":
    start(fuzz)
