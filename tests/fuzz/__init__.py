"""Fuzzers: hostile inputs from a seed, one module per kind of input.

A module has `fuzz(seed)`, which raises if it finds a fault, and runs by itself:

    python -m tests.fuzz.plan_file --seeds 1000 --first-seed 1

which closes with `N seeds, N faults`. `python -m tests.fuzz` runs all of them. A fault is any
exception that is no KedgeError, five seconds of work on one input, or memory without bounds.
"""
