"""`kedge serve`: the HTTP API and the pages over one or many clusters, in one process.

Handlers call the functions that commands call: every button is an HTTP call, and every call is a
function that the command line uses too. What decides is below; this package parses, calls, keeps
and shows.

    settings     one TOML file, and options of the command
    tables       accounts, audit, jobs, plans; `kedge.database` opens SQLite or PostgreSQL
    access       tokens, sessions, sign-in, roles per cluster
    protection   limits, same-origin checks, security headers, the audit of refusals
    clusters     the configured clusters, read again and again by a thread each
    jobs         plans, predictions and runs on threads, with progress
    events       server-sent events, encoded once for all who listen
    api          one router per resource
    pages        the files that browsers load
    loop         the watch loop of each cluster, inside the server
    client       a thin client of the API, for `kedge --server`
    services     all parts of one server
    app, server  the application, and the process that serves it

Threads. uvicorn's event loop passes requests to a pool of threads, where handlers run. Each cluster
has a thread that reads it, three of its loop (lead, samples, webhooks) and one of a run that the
loop carries out; each job has a thread that works. Streams of events stay on the event loop.
"""
