"""Kafka's own controller as an oracle for Kedge's.

The goal: for every scenario (brokers come and go, topics are made, moved and deleted, leaders ask,
controllers fail over) Kedge's controller sends, stores and remembers what Kafka's would. The
vectors in tests/vectors hold some dozens of such scenarios; here any number is drawn at random and
the expected answers come from Kafka 3.9.1 itself, while the test runs.

    seed 4711 ──generator──→ scenario ──java/──→ Kafka's answers ──conformance──→ None, or the
                                                                                   first difference

- `java/` plays a scenario on Kafka's `KafkaController` with a real ZooKeeper and a recorder in
  place of the network, and prints what it saw in the form of the vectors. It reproduces all
  scenarios of the vectors: `test_against_kafka.py` begins with that.
- `draft.py`, `generator.py`: scenarios from seeds.
- `hunt.py` compares, and makes a difference small: it drops steps, topics and brokers as long as
  the two still part.
- `quirks.py` knows the differences that are meant (docs/concepts/differences.md has the list).
  Every other one is a bug.

By hand:

    python -m tests.oracle --seeds 2000              2000 scenarios, about seven minutes
    python -m tests.oracle --first 4711 --seeds 1    one of them, made small
    python -m tests.oracle --all                     documented differences too

A difference that was found and mended is kept in tests/vectors/controller-found.json, with Kafka's
answers, so that it stays mended without a JVM.
"""
