"""The directory of a KRaft controller: Kafka's files, byte for byte.

Goal. Kafka's controller continues on a directory that Kedge wrote, Kedge on one that Kafka wrote,
and Kafka's own tools (DumpLogSegments) read both.

    meta.properties                     cluster, node, directory id             `meta_properties`
    bootstrap.checkpoint                the features of an empty log            `formatting`
    __cluster_metadata-0/
        quorum-state                    the vote, one line of JSON              `quorum_state`
        00000000000000000000.log        segments of record batches              `segments`
        <offset>-<epoch>.checkpoint     snapshots                               `checkpoints`
        leader-epoch-checkpoint         where epochs start, for Kafka alone
        partition.metadata              the id of the topic, for Kafka alone

`MetadataDirectory` carries out the writes of raft in sequence. Each is synced before the next:

    StoreElection       write quorum-state.tmp, sync it, rename it, sync the directory
    AppendBatches       append to the last segment, sync it
    TruncateLog         cut the file, sync it
    InstallSnapshot     sync and rename the checkpoint, then drop the log

What a crash leaves. An append that was cut off is a batch at the end of the last segment that is
incomplete or has a wrong checksum: it was never acknowledged, and `open` cuts it off. A damaged
batch with others behind it is no torn append: the directory is refused, since a voter that forgets
what it has acknowledged may lose committed records.
"""

from kedge.metadata_log.directory import MetadataDirectory
from kedge.metadata_log.formatting import FormatRequest, format_directory, read_bootstrap
from kedge.metadata_log.meta_properties import MetaProperties, read_meta_properties

__all__ = [
    "FormatRequest",
    "MetaProperties",
    "MetadataDirectory",
    "format_directory",
    "read_bootstrap",
    "read_meta_properties",
]
