"""What people read, as plain rows, summaries and figures; the command line only colours it."""
