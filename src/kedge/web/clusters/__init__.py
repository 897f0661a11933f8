"""The clusters of a server: how each is reached, and what was last read of it.

registry   the configured clusters, opened for one request or job at a time
places     how many requests may hold a thread for one cluster
loads      rates of partitions from Prometheus, put on every snapshot
view       what pages show of a snapshot: sums per broker and topic, columns of partitions
watcher    a thread per cluster that reads it again and again, and publishes new views
"""
