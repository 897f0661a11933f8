"""The port to single brokers (`port`) and its adapters."""
