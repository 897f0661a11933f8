"""Known answers, run against the production code.

`python -m tests.conformance FILE… [--kind K] [--store memory|zookeeper]` runs every case of every
kind, prints a line for each failure with its first difference, and closes with
`N passed, N failed`. Kinds that nothing runs yet are listed as such, never counted as passed.
"""
