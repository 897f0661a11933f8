package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AddRaftVoterRequestData;
import org.apache.kafka.common.message.BeginQuorumEpochRequestData;
import org.apache.kafka.common.message.BeginQuorumEpochResponseData;
import org.apache.kafka.common.message.DescribeQuorumRequestData;
import org.apache.kafka.common.message.EndQuorumEpochRequestData;
import org.apache.kafka.common.message.EndQuorumEpochRequestData.ReplicaInfo;
import org.apache.kafka.common.message.EndQuorumEpochResponseData;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchSnapshotRequestData;
import org.apache.kafka.common.message.RemoveRaftVoterRequestData;
import org.apache.kafka.common.message.UpdateRaftVoterRequestData;
import org.apache.kafka.common.message.UpdateRaftVoterResponseData;
import org.apache.kafka.common.message.VoteRequestData;
import org.apache.kafka.common.message.VoteResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.MemoryRecords;

/** What the other nodes send to the client, as the steps of a scenario describe it. */
final class Incoming {
    private static final String TOPIC = LoneClient.PARTITION.topic();

    /** The directory of no node: a voter that has it is another one, which had the same id. */
    private static final Uuid STRANGE = LoneClient.directory(99);

    private final LoneClient subject;
    private final Uuid ownDirectory;
    private final String listener;

    Incoming(LoneClient subject) {
        this.subject = subject;
        this.ownDirectory = LoneClient.directory(subject.node);
        this.listener = subject.network.listenerName().value();
    }

    private static String cluster(JsonNode step) {
        return step.path("cluster").asText(LoneClient.CLUSTER);
    }

    private static int sender(JsonNode step) {
        return step.path("from").asInt(2);
    }

    private static int epoch(JsonNode step) {
        return step.path("epoch").asInt(0);
    }

    // ---- requests ----------------------------------------------------------------------------

    ApiMessage request(JsonNode step) {
        return switch (step.required("api").asText()) {
            case "Vote" -> vote(step);
            case "BeginQuorumEpoch" -> begin(step);
            case "EndQuorumEpoch" -> end(step);
            case "Fetch" -> fetch(step);
            case "FetchSnapshot" -> fetchSnapshot(step);
            case "DescribeQuorum" -> new DescribeQuorumRequestData().setTopics(List.of(
                new DescribeQuorumRequestData.TopicData().setTopicName(TOPIC).setPartitions(
                    List.of(new DescribeQuorumRequestData.PartitionData()))));
            case "AddRaftVoter" -> addVoter(step);
            case "UpdateRaftVoter" -> updateVoter(step);
            case "RemoveRaftVoter" -> new RemoveRaftVoterRequestData()
                .setClusterId(cluster(step))
                .setVoterId(sender(step))
                .setVoterDirectoryId(LoneClient.directory(sender(step)));
            default -> throw new IllegalArgumentException("unknown request " + step);
        };
    }

    private ApiMessage vote(JsonNode step) {
        var ballot = new VoteRequestData.PartitionData()
            .setPartitionIndex(step.path("partition").asInt(0))
            .setReplicaId(sender(step))
            .setReplicaDirectoryId(LoneClient.directory(sender(step)))
            .setReplicaEpoch(epoch(step))
            .setLastOffset(step.path("end").asLong(0))
            .setLastOffsetEpoch(step.path("last_epoch").asInt(0))
            .setVoterDirectoryId(step.path("wrong_dir").asBoolean() ? STRANGE : ownDirectory)
            .setPreVote(step.path("pre_vote").asBoolean());
        return new VoteRequestData()
            .setClusterId(cluster(step))
            .setVoterId(step.path("voter").asInt(subject.node))
            .setTopics(List.of(new VoteRequestData.TopicData()
                .setTopicName(TOPIC).setPartitions(List.of(ballot))));
    }

    private ApiMessage begin(JsonNode step) {
        int leader = sender(step);
        var term = new BeginQuorumEpochRequestData.PartitionData()
            .setLeaderId(leader).setLeaderEpoch(epoch(step)).setVoterDirectoryId(ownDirectory);
        var request = new BeginQuorumEpochRequestData()
            .setClusterId(cluster(step))
            .setVoterId(step.path("voter").asInt(subject.node))
            .setTopics(List.of(new BeginQuorumEpochRequestData.TopicData()
                .setTopicName(TOPIC).setPartitions(List.of(term))));
        request.leaderEndpoints().add(new BeginQuorumEpochRequestData.LeaderEndpoint()
            .setName(listener)
            .setHost(LoneClient.host(leader)).setPort(LoneClient.port(leader)));
        return request;
    }

    private ApiMessage end(JsonNode step) {
        int leader = sender(step);
        List<ReplicaInfo> successors = new ArrayList<>();
        step.path("preferred").forEach(node -> successors.add(new ReplicaInfo()
            .setCandidateId(node.asInt())
            .setCandidateDirectoryId(LoneClient.directory(node.asInt()))));
        var term = new EndQuorumEpochRequestData.PartitionData()
            .setLeaderId(leader).setLeaderEpoch(epoch(step)).setPreferredCandidates(successors);
        var request = new EndQuorumEpochRequestData()
            .setClusterId(cluster(step))
            .setTopics(List.of(new EndQuorumEpochRequestData.TopicData()
                .setTopicName(TOPIC).setPartitions(List.of(term))));
        request.leaderEndpoints().add(new EndQuorumEpochRequestData.LeaderEndpoint()
            .setName(listener)
            .setHost(LoneClient.host(leader)).setPort(LoneClient.port(leader)));
        return request;
    }

    private static ApiMessage fetch(JsonNode step) {
        var from = new FetchRequestData.FetchPartition()
            .setFetchOffset(step.path("offset").asLong(0))
            .setLastFetchedEpoch(step.path("last_epoch").asInt(0))
            .setCurrentLeaderEpoch(epoch(step))
            .setHighWatermark(step.path("high_watermark").asLong(Long.MAX_VALUE))
            .setReplicaDirectoryId(LoneClient.directory(sender(step)));
        return new FetchRequestData()
            .setClusterId(cluster(step))
            .setMaxWaitMs(step.path("max_wait").asInt(0))
            .setReplicaState(new FetchRequestData.ReplicaState().setReplicaId(sender(step)))
            .setTopics(List.of(new FetchRequestData.FetchTopic()
                .setTopicId(Uuid.METADATA_TOPIC_ID).setPartitions(List.of(from))));
    }

    private static ApiMessage fetchSnapshot(JsonNode step) {
        var wanted = new FetchSnapshotRequestData.PartitionSnapshot()
            .setCurrentLeaderEpoch(epoch(step))
            .setSnapshotId(new FetchSnapshotRequestData.SnapshotId()
                .setEndOffset(step.path("end").asLong(1))
                .setEpoch(step.path("last_epoch").asInt(1)));
        return new FetchSnapshotRequestData()
            .setClusterId(cluster(step))
            .setReplicaId(sender(step))
            .setTopics(List.of(new FetchSnapshotRequestData.TopicSnapshot()
                .setName(TOPIC).setPartitions(List.of(wanted))));
    }

    private ApiMessage addVoter(JsonNode step) {
        int voter = sender(step);
        var request = new AddRaftVoterRequestData()
            .setClusterId(cluster(step))
            .setVoterId(voter).setVoterDirectoryId(LoneClient.directory(voter));
        request.listeners().add(new AddRaftVoterRequestData.Listener()
            .setName(listener).setHost(LoneClient.host(voter)).setPort(LoneClient.port(voter)));
        return request;
    }

    private ApiMessage updateVoter(JsonNode step) {
        int voter = sender(step);
        var request = new UpdateRaftVoterRequestData()
            .setClusterId(cluster(step))
            .setCurrentLeaderEpoch(epoch(step))
            .setVoterId(voter).setVoterDirectoryId(LoneClient.directory(voter))
            .setKRaftVersionFeature(new UpdateRaftVoterRequestData.KRaftVersionFeature()
                .setMinSupportedVersion((short) 0).setMaxSupportedVersion((short) 1));
        request.listeners().add(new UpdateRaftVoterRequestData.Listener()
            .setName(listener).setHost(LoneClient.host(voter)).setPort(LoneClient.port(voter)));
        return request;
    }

    // ---- answers -----------------------------------------------------------------------------

    /** An answer to a request of the client; an epoch that is left out is the client's own. */
    ApiMessage reply(JsonNode step) {
        int leader = step.path("leader").asInt(-1);
        int epoch = step.path("epoch").asInt(subject.client.quorum().epoch());
        short refusal = code(step, "partition_error");
        return switch (step.required("api").asText()) {
            case "Vote" -> voted(step, new VoteResponseData.PartitionData()
                .setErrorCode(refusal).setLeaderId(leader).setLeaderEpoch(epoch)
                .setVoteGranted(step.path("granted").asBoolean()));
            case "BeginQuorumEpoch" -> new BeginQuorumEpochResponseData().setTopics(List.of(
                new BeginQuorumEpochResponseData.TopicData().setTopicName(TOPIC).setPartitions(
                    List.of(new BeginQuorumEpochResponseData.PartitionData()
                        .setErrorCode(refusal).setLeaderId(leader).setLeaderEpoch(epoch)))));
            case "EndQuorumEpoch" -> new EndQuorumEpochResponseData().setTopics(List.of(
                new EndQuorumEpochResponseData.TopicData().setTopicName(TOPIC).setPartitions(
                    List.of(new EndQuorumEpochResponseData.PartitionData()
                        .setErrorCode(refusal).setLeaderId(leader).setLeaderEpoch(epoch)))));
            case "UpdateRaftVoter" -> new UpdateRaftVoterResponseData()
                .setErrorCode(refusal)
                .setCurrentLeader(new UpdateRaftVoterResponseData.CurrentLeader()
                    .setLeaderId(leader).setLeaderEpoch(epoch));
            case "Fetch" -> fetched(step, new FetchResponseData.PartitionData()
                .setErrorCode(refusal)
                .setCurrentLeader(new FetchResponseData.LeaderIdAndEpoch()
                    .setLeaderId(leader).setLeaderEpoch(epoch)));
            default -> throw new IllegalArgumentException("unknown answer " + step);
        };
    }

    private static short code(JsonNode step, String field) {
        return Errors.valueOf(step.path(field).asText("NONE")).code();
    }

    private static ApiMessage voted(JsonNode step, VoteResponseData.PartitionData ballot) {
        VoteResponseData answer = new VoteResponseData().setErrorCode(code(step, "error"));
        return answer.errorCode() != Errors.NONE.code() ? answer
            : answer.setTopics(List.of(new VoteResponseData.TopicData()
                .setTopicName(TOPIC).setPartitions(List.of(ballot))));
    }

    private ApiMessage fetched(JsonNode step, FetchResponseData.PartitionData found) {
        found.setLogStartOffset(0)
            .setHighWatermark(step.path("high_watermark").asLong(-1))
            .setRecords(MemoryRecords.EMPTY);
        if (step.has("records")) {
            JsonNode records = step.get("records");
            found.setRecords(subject.nextRecords(
                records.required(0).asInt(), records.required(1).asInt()));
        }
        if (step.has("diverging")) {
            found.divergingEpoch()
                .setEpoch(step.get("diverging").required(0).asInt())
                .setEndOffset(step.get("diverging").required(1).asLong());
        }
        if (step.has("snapshot")) {
            found.snapshotId()
                .setEndOffset(step.get("snapshot").required(0).asLong())
                .setEpoch(step.get("snapshot").required(1).asInt());
        }
        return new FetchResponseData()
            .setErrorCode(code(step, "error"))
            .setResponses(List.of(new FetchResponseData.FetchableTopicResponse()
                .setTopicId(Uuid.METADATA_TOPIC_ID).setPartitions(List.of(found))));
    }
}
