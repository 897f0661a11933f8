"""The HTTP API: one router per resource. Handlers parse, call and encode; they decide nothing.

    requests   who sends a request, what a change needs, and how documents are answered
    session    sign in and out            tokens     accounts for programs
    clusters   clusters, brokers          topics     topics and their configs
    snapshots  snapshots                  plans      plans and predictions
    runs       runs and their verbs       jobs       long work and its progress
    audit      who changed what           health     liveness, readiness, metrics

Reads need the role `read` on the cluster, plans and predictions `plan`, changes of the cluster
`apply`, and what concerns the server `admin`. Each change has an idempotency key and leaves an
entry in the audit, whether it was made or refused.
"""
