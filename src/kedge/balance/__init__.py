"""Even out what brokers carry, at the least movement of data."""
