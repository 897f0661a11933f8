"""The topic that keeps runs and their lease in a cluster (`--state cluster`)."""

RUNS_TOPIC = "__kedge_runs"

# Each step of a run is a transaction that writes to it: Kafka creates both for the first run. They
# are compacted and small, and transactions of all clients wait for `__transaction_state`.
TOPICS_OF_RUNS = frozenset({RUNS_TOPIC, "__transaction_state"})
