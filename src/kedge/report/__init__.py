"""Makes the lines, rows and figures of plans, runs, topics and findings that commands print."""
