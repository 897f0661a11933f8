package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Comparator;
import java.util.List;
import org.apache.kafka.common.message.AddRaftVoterResponseData;
import org.apache.kafka.common.message.BeginQuorumEpochRequestData;
import org.apache.kafka.common.message.BeginQuorumEpochResponseData;
import org.apache.kafka.common.message.DescribeQuorumResponseData;
import org.apache.kafka.common.message.DescribeQuorumResponseData.ReplicaState;
import org.apache.kafka.common.message.EndQuorumEpochRequestData;
import org.apache.kafka.common.message.EndQuorumEpochResponseData;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchSnapshotRequestData;
import org.apache.kafka.common.message.FetchSnapshotResponseData;
import org.apache.kafka.common.message.RemoveRaftVoterResponseData;
import org.apache.kafka.common.message.UpdateRaftVoterRequestData;
import org.apache.kafka.common.message.UpdateRaftVoterResponseData;
import org.apache.kafka.common.message.VoteRequestData;
import org.apache.kafka.common.message.VoteResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.BaseRecords;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.Records;

/**
 * What the client sends, reduced to the fields that its decisions show in. Every message is about
 * the one partition of the metadata topic; a refused one may be about none.
 */
final class Outgoing {
    private Outgoing() {
    }

    // ---- requests ----------------------------------------------------------------------------

    static ObjectNode show(RaftRequest.Outbound request) {
        ApiMessage message = request.data();
        ObjectNode shown = QuorumOracle.JSON.createObjectNode()
            .put("api", ApiKeys.forId(message.apiKey()).name)
            .put("to", request.destination().id());
        if (message instanceof VoteRequestData vote) {
            var ballot = vote.topics().get(0).partitions().get(0);
            shown.put("voter", vote.voterId()).put("pre_vote", ballot.preVote())
                .put("candidate", ballot.replicaId()).put("epoch", ballot.replicaEpoch())
                .put("end", ballot.lastOffset()).put("last_epoch", ballot.lastOffsetEpoch());
        } else if (message instanceof BeginQuorumEpochRequestData begin) {
            var term = begin.topics().get(0).partitions().get(0);
            shown.put("voter", begin.voterId())
                .put("leader", term.leaderId()).put("epoch", term.leaderEpoch());
        } else if (message instanceof EndQuorumEpochRequestData end) {
            var term = end.topics().get(0).partitions().get(0);
            ArrayNode preferred = shown.put("leader", term.leaderId())
                .put("epoch", term.leaderEpoch()).putArray("preferred");
            term.preferredCandidates().forEach(next -> preferred.add(next.candidateId()));
        } else if (message instanceof FetchRequestData fetch) {
            var from = fetch.topics().get(0).partitions().get(0);
            shown.put("offset", from.fetchOffset()).put("last_epoch", from.lastFetchedEpoch())
                .put("epoch", from.currentLeaderEpoch())
                .put("high_watermark", from.highWatermark()).put("max_wait", fetch.maxWaitMs());
        } else if (message instanceof FetchSnapshotRequestData fetch) {
            var from = fetch.topics().get(0).partitions().get(0);
            shown.put("epoch", from.currentLeaderEpoch()).put("position", from.position())
                .put("snapshot", from.snapshotId().endOffset() + "-" + from.snapshotId().epoch());
        } else if (message instanceof UpdateRaftVoterRequestData update) {
            shown.put("epoch", update.currentLeaderEpoch()).put("voter", update.voterId());
        }
        return shown;
    }

    // ---- answers -----------------------------------------------------------------------------

    static ObjectNode show(ApiMessage answer) {
        if (answer instanceof VoteResponseData vote) {
            return show(vote);
        } else if (answer instanceof FetchResponseData fetched) {
            return show(fetched);
        } else if (answer instanceof DescribeQuorumResponseData described) {
            return show(described);
        } else if (answer instanceof BeginQuorumEpochResponseData begun) {
            ObjectNode shown = refusal(begun.errorCode());
            begun.topics().forEach(topic -> topic.partitions().forEach(term ->
                term(shown, term.errorCode(), term.leaderId(), term.leaderEpoch())));
            return shown;
        } else if (answer instanceof EndQuorumEpochResponseData ended) {
            ObjectNode shown = refusal(ended.errorCode());
            ended.topics().forEach(topic -> topic.partitions().forEach(term ->
                term(shown, term.errorCode(), term.leaderId(), term.leaderEpoch())));
            return shown;
        } else if (answer instanceof FetchSnapshotResponseData fetched) {
            ObjectNode shown = refusal(fetched.errorCode());
            fetched.topics().forEach(topic -> topic.partitions().forEach(found ->
                shown.put("partition_error", name(found.errorCode()))));
            return shown;
        } else if (answer instanceof UpdateRaftVoterResponseData updated) {
            return refusal(updated.errorCode())
                .put("leader", updated.currentLeader().leaderId())
                .put("epoch", updated.currentLeader().leaderEpoch());
        } else if (answer instanceof AddRaftVoterResponseData added) {
            return refusal(added.errorCode()).put("message", added.errorMessage());
        } else if (answer instanceof RemoveRaftVoterResponseData removed) {
            return refusal(removed.errorCode()).put("message", removed.errorMessage());
        }
        throw new IllegalArgumentException("no form for " + answer);
    }

    private static String name(short code) {
        return Errors.forCode(code).name();
    }

    private static ObjectNode refusal(short code) {
        return QuorumOracle.JSON.createObjectNode().put("error", name(code));
    }

    private static void term(ObjectNode shown, short code, int leader, int epoch) {
        shown.put("partition_error", name(code)).put("leader", leader).put("epoch", epoch);
    }

    private static String endpoint(int node, String host, int port) {
        return node + "@" + host + ":" + port;
    }

    private static ObjectNode show(VoteResponseData vote) {
        ObjectNode shown = refusal(vote.errorCode());
        vote.topics().forEach(topic -> topic.partitions().forEach(ballot -> {
            term(shown, ballot.errorCode(), ballot.leaderId(), ballot.leaderEpoch());
            ArrayNode endpoints =
                shown.put("granted", ballot.voteGranted()).putArray("endpoints");
            vote.nodeEndpoints().forEach(known -> endpoints.add(
                endpoint(known.nodeId(), known.host(), known.port())));
        }));
        return shown;
    }

    private static ObjectNode show(FetchResponseData fetched) {
        ObjectNode shown = refusal(fetched.errorCode());
        fetched.responses().forEach(topic -> topic.partitions().forEach(found -> {
            var leader = found.currentLeader();
            term(shown, found.errorCode(), leader.leaderId(), leader.leaderEpoch());
            shown.put("high_watermark", found.highWatermark());
            shown.put("log_start", found.logStartOffset());
            var diverging = found.divergingEpoch();
            if (diverging.epoch() >= 0) {
                shown.put("diverging", diverging.epoch() + "@" + diverging.endOffset());
            }
            var snapshot = found.snapshotId();
            if (snapshot.epoch() >= 0) {
                shown.put("snapshot", snapshot.endOffset() + "-" + snapshot.epoch());
            }
            show(found.records(), shown.putArray("batches"));
            ArrayNode endpoints = shown.putArray("endpoints");
            fetched.nodeEndpoints().forEach(known -> endpoints.add(
                endpoint(known.nodeId(), known.host(), known.port())));
        }));
        return shown;
    }

    private static void show(BaseRecords records, ArrayNode batches) {
        if (records == null) {
            return;
        }
        for (RecordBatch batch : ((Records) records).batches()) {
            ObjectNode shown = batches.addObject()
                .put("base", batch.baseOffset())
                .put("last", batch.lastOffset())
                .put("epoch", batch.partitionLeaderEpoch())
                .put("control", batch.isControlBatch());
            if (batch.isControlBatch()) {
                ArrayNode types = shown.putArray("types");
                for (Record record : batch) {
                    types.add(ControlRecordType.parse(record.key()).name());
                }
            }
        }
    }

    private static ObjectNode show(DescribeQuorumResponseData described) {
        ObjectNode shown = refusal(described.errorCode());
        var quorum = described.topics().get(0).partitions().get(0);
        term(shown, quorum.errorCode(), quorum.leaderId(), quorum.leaderEpoch());
        shown.put("high_watermark", quorum.highWatermark());
        show(quorum.currentVoters(), shown.putObject("voters"));
        show(quorum.observers(), shown.putObject("observers"));
        return shown;
    }

    private static void show(List<ReplicaState> replicas, ObjectNode ends) {
        replicas.stream().sorted(Comparator.comparing(ReplicaState::replicaId)).forEach(replica ->
            ends.put(String.valueOf(replica.replicaId()), replica.logEndOffset()));
    }
}
