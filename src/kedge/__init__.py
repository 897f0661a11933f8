"""Kedge places, moves and balances Kafka replicas.

Start with docs/ARCHITECTURE.md; then `kedge.model`, the values that everything else speaks in.
"""

__version__ = "0.1.0"
