"""A long run under faults: real brokers, each a JVM of its own, with Kedge as their controller.

Producers send records with an identity each; a consumer group reads along. Meanwhile brokers and
controllers are killed without a word, one after the other: Kedge's active controller (its standby
takes over), or both of them (one of Kafka's own brokers takes over, until Kedge comes back and
takes the role from it). Partitions move and moves are cancelled, topics come and go.

At the end everything is let come to rest, and every record that was acknowledged must be there,
once.

    make soak MINUTES=20
    python -m tests.soak --minutes 2 --seed 7
"""
