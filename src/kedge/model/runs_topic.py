"""The topic that keeps runs and their lease in a cluster (`--state cluster`)."""

RUNS_TOPIC = "__kedge_runs"
