package kedge.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignablePartition;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignableTopic;
import org.apache.kafka.common.message.AlterPartitionReassignmentsResponseData;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState;
import org.apache.kafka.common.message.AlterPartitionRequestData.PartitionData;
import org.apache.kafka.common.message.AlterPartitionRequestData.TopicData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.message.ElectLeadersRequestData.TopicPartitions;
import org.apache.kafka.common.message.ElectLeadersResponseData;
import org.apache.kafka.common.message.ListPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.ListPartitionReassignmentsResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;

/** In-sync replicas, leaders and reassignments of partitions. */
final class PartitionRequests {
    /** The first version of AlterPartition that names the epochs of in-sync replicas. */
    private static final int WITH_EPOCHS = 3;

    /** An election of no known type. */
    private static final byte ODD_ELECTION = 7;

    private static final Comparator<JsonNode> BY_PARTITION = Comparator
        .comparing((JsonNode row) -> Fields.text(row, "topic"))
        .thenComparing(row -> Fields.integer(row, "partition"));

    /** A replica that shall be in sync, and which of its broker's lives is meant. */
    private record Member(int broker, long epoch) {
    }

    private final Cluster cluster;

    PartitionRequests(Cluster cluster) {
        this.cluster = cluster;
    }

    void addTo(Map<String, Scenario.Action> actions) {
        actions.put("alterPartition", this::alter);
        actions.put("reassign", this::reassign);
        actions.put("listReassignments", this::list);
        actions.put("electLeaders", this::elect);
        actions.put("describe", this::describe);
    }

    // ---- in-sync replicas --------------------------------------------------------------------

    private Reply<?> alter(ObjectNode step) {
        if (step.required("broker").isTextual()) {
            step.put("broker", leaderOfFirst(step));
        }
        int sender = Fields.integer(step, "broker");
        int version = Fields.integer(step, "version", ApiKeys.ALTER_PARTITION.latestVersion());
        step.put("version", version);
        AlterPartitionRequestData request = new AlterPartitionRequestData()
            .setBrokerId(sender)
            .setBrokerEpoch(BrokerRequests.epoch(cluster, step))
            .setTopics(Fields.each(step.required("topics"), topic -> new TopicData()
                .setTopicId(cluster.view.topicId(Fields.text(topic, "topic")))
                .setPartitions(Fields.each(topic.required("partitions"), wish -> wanted(
                    Fields.text(topic, "topic"), (ObjectNode) wish, sender, version)))));
        return new Reply<>(
            cluster.controller.alterPartition(cluster.asking(version), request),
            PartitionRequests::show);
    }

    /** Who sends a request if the step says only "the leader"; without one, who might be it. */
    private int leaderOfFirst(ObjectNode step) {
        JsonNode topic = step.required("topics").required(0);
        PartitionRegistration state = cluster.view.partition(
            Fields.text(topic, "topic"),
            Fields.integer(topic.required("partitions").required(0), "partition"));
        if (state == null) {
            return 1;
        }
        return state.hasLeader() ? state.leader : state.replicas[0];
    }

    private PartitionData wanted(String topic, ObjectNode wish, int sender, int version) {
        int number = Fields.integer(wish, "partition");
        PartitionRegistration state = cluster.view.partition(topic, number);
        PartitionData made = new PartitionData()
            .setPartitionIndex(number)
            .setLeaderEpoch(epoch(wish, "leader_epoch", state == null ? 0 : state.leaderEpoch))
            .setPartitionEpoch(
                epoch(wish, "partition_epoch", state == null ? 0 : state.partitionEpoch))
            .setLeaderRecoveryState((byte) Fields.integer(wish, "recovery", 0));
        Set<Member> members = new LinkedHashSet<>(
            Fields.each(wish.required("isr"), one -> member(one, sender)));
        if (version < WITH_EPOCHS) {
            return made.setNewIsr(members.stream().map(Member::broker).toList());
        }
        ArrayNode resolved = wish.putArray("isr");
        members.forEach(one -> resolved.addArray().add(one.broker()).add(one.epoch()));
        return made.setNewIsrWithEpochs(members.stream()
            .map(one -> new BrokerState()
                .setBrokerId(one.broker()).setBrokerEpoch(one.epoch()))
            .toList());
    }

    /** An epoch as the step gives it, else the current one with what the step adds to it. */
    private static int epoch(ObjectNode wish, String field, int current) {
        int shift = Fields.integer(wish, field + "_delta", 0);
        wish.remove(field + "_delta");
        wish.put(field, Fields.integer(wish, field, current + shift));
        return Fields.integer(wish, field);
    }

    private Member member(JsonNode one, int sender) {
        if (one.isArray()) {
            return new Member(one.required(0).asInt(), one.required(1).asLong());
        }
        int broker = one.isTextual() ? sender : one.asInt(); // a text stands for the sender
        return new Member(broker, cluster.view.epochOf(broker, -1));
    }

    private static JsonNode show(AlterPartitionResponseData answer) {
        ArrayNode shown = Fields.JSON.createArrayNode();
        answer.topics().forEach(topic -> topic.partitions().forEach(partition -> {
            ObjectNode row = shown.addObject()
                .put("topicId", topic.topicId().toString())
                .put("partition", partition.partitionIndex())
                .put("error", Fields.nameOf(partition.errorCode()));
            if (partition.errorCode() == 0) {
                row.put("leader", partition.leaderId())
                    .put("leaderEpoch", partition.leaderEpoch())
                    .put("partitionEpoch", partition.partitionEpoch())
                    .put("recovery", partition.leaderRecoveryState())
                    .set("isr", Fields.numbers(partition.isr()));
            }
        }));
        return shown;
    }

    // ---- reassignments -----------------------------------------------------------------------

    private Reply<?> reassign(ObjectNode step) {
        var request = new AlterPartitionReassignmentsRequestData()
            .setAllowReplicationFactorChange(step.path("allow_rf_change").asBoolean(true))
            .setTopics(Fields.each(step.required("topics"), topic -> new ReassignableTopic()
                .setName(Fields.text(topic, "topic"))
                .setPartitions(Fields.each(topic.required("partitions"), partition ->
                    new ReassignablePartition()
                        .setPartitionIndex(Fields.integer(partition, "partition"))
                        .setReplicas(partition.hasNonNull("replicas")
                            ? Fields.integers(partition.get("replicas")) : null)))));
        return new Reply<>(
            cluster.controller.alterPartitionReassignments(
                cluster.asking(ApiKeys.ALTER_PARTITION_REASSIGNMENTS), request),
            PartitionRequests::show);
    }

    private static JsonNode show(AlterPartitionReassignmentsResponseData answer) {
        return Fields.array(answer.responses().stream()
            .flatMap(topic -> topic.partitions().stream().map(partition ->
                at(topic.name(), partition.partitionIndex(),
                    Fields.outcome(partition.errorCode(), partition.errorMessage()))))
            .toList());
    }

    private static ObjectNode at(String topic, int partition, ObjectNode row) {
        return row.put("topic", topic).put("partition", partition);
    }

    private Reply<?> list(ObjectNode step) {
        return new Reply<>(
            cluster.controller.listPartitionReassignments(
                cluster.asking(ApiKeys.LIST_PARTITION_REASSIGNMENTS),
                new ListPartitionReassignmentsRequestData().setTopics(null)), // null: all of them
            PartitionRequests::show);
    }

    private static JsonNode show(ListPartitionReassignmentsResponseData answer) {
        return Fields.array(answer.topics().stream()
            .flatMap(topic -> topic.partitions().stream().map(moving -> {
                ObjectNode row = at(topic.name(), moving.partitionIndex(), Fields.object());
                row.set("replicas", Fields.numbers(moving.replicas()));
                row.set("adding", Fields.numbers(moving.addingReplicas()));
                row.set("removing", Fields.numbers(moving.removingReplicas()));
                return row;
            }))
            .sorted(BY_PARTITION)
            .toList());
    }

    // ---- leaders -----------------------------------------------------------------------------

    private Reply<?> elect(ObjectNode step) {
        ElectLeadersRequestData request = new ElectLeadersRequestData()
            .setElectionType(switch (Fields.text(step, "type")) {
                case "preferred" -> (byte) 0;
                case "unclean" -> (byte) 1;
                default -> ODD_ELECTION;
            });
        if (step.hasNonNull("partitions")) {
            Map<String, TopicPartitions> byTopic = new LinkedHashMap<>();
            for (JsonNode pair : step.get("partitions")) {
                byTopic.computeIfAbsent(
                        pair.required(0).asText(), name -> new TopicPartitions().setTopic(name))
                    .partitions().add(pair.required(1).asInt());
            }
            request.topicPartitions().addAll(byTopic.values());
        } else {
            request.setTopicPartitions(null); // all of them
        }
        return new Reply<>(
            cluster.controller.electLeaders(cluster.asking(ApiKeys.ELECT_LEADERS), request),
            PartitionRequests::show);
    }

    private static JsonNode show(ElectLeadersResponseData answer) {
        return Fields.array(answer.replicaElectionResults().stream()
            .flatMap(topic -> topic.partitionResult().stream().map(result ->
                at(topic.topic(), result.partitionId(),
                    Fields.outcome(result.errorCode(), result.errorMessage()))))
            .sorted(BY_PARTITION)
            .toList());
    }

    // ---- state -------------------------------------------------------------------------------

    private Reply<?> describe(ObjectNode step) {
        ObjectNode shown = Fields.object();
        for (JsonNode pair : step.required("partitions")) {
            String topic = pair.required(0).asText();
            int number = pair.required(1).asInt();
            shown.set(topic + "-" + number, show(cluster.view.partition(topic, number)));
        }
        return Reply.of(shown);
    }

    private static ObjectNode show(PartitionRegistration state) {
        ObjectNode shown = Fields.object()
            .put("leader", state.leader)
            .put("leaderEpoch", state.leaderEpoch)
            .put("partitionEpoch", state.partitionEpoch)
            .put("recovering", state.leaderRecoveryState == LeaderRecoveryState.RECOVERING);
        shown.set("replicas", numbers(state.replicas));
        shown.set("isr", numbers(state.isr));
        shown.set("elr", Fields.numbers(IntStream.of(state.elr).sorted().boxed().toList()));
        shown.set("lastKnownElr", numbers(state.lastKnownElr));
        shown.set("adding", numbers(state.addingReplicas));
        shown.set("removing", numbers(state.removingReplicas));
        ArrayNode directories = shown.putArray("directories");
        Arrays.stream(state.directories).map(Uuid::toString).forEach(directories::add);
        return shown;
    }

    private static ArrayNode numbers(int[] values) {
        return Fields.numbers(IntStream.of(values).boxed().toList());
    }
}
