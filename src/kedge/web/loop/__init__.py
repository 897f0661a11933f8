"""The loop that keeps clusters balanced, inside the server beside its jobs."""
