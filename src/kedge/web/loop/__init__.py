"""The watch loop inside the server: it keeps clusters in order, beside the server's jobs.

    cluster_loops  a loop per cluster, led by one of the servers of the database
    event_relay    what the loops have stored, as events for browsers; on every server
    loop_rows      proposals, findings and the state of a loop for programs

A server that is read-only leads no loop and shows what the others have stored.
"""
