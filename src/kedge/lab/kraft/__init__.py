"""The lab in KRaft mode: real KRaft controllers and simulated brokers in one process.

What differs from ZooKeeper mode stands behind the same lab:

    lab_quorum        one or three controllers (`kedge.kraft`), with their logs in the lab's
                      directory, and messages between them over the lab's network
    kraft_cluster     the lab's cluster; its metadata (for bandwidth, traffic, status) is projected
                      from the committed image
    image_delta       what changed between two images, as a broker takes it over
    kraft_machine     a broker: registers, sends heartbeats, reads the log, changes ISRs
    kraft_backend     reads of the endpoint's handlers, answered from the image
    forwarding_node   the endpoint's node of a broker: what a broker forwards to the controller goes
                      there, as bytes, through `kedge.kraft_rpc`
    kraft_faults      faults of controllers beside those of brokers

A broker of Kafka 4 answers Metadata and the like from its own image, and forwards changes to the
active controller. So does a node here: the endpoint's handlers answer the first kind from the
metadata cache, which the broker's image fills, and the second kind never reaches them.
"""
