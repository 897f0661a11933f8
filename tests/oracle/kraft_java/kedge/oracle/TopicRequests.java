package kedge.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.CreatePartitionsRequestData.CreatePartitionsAssignment;
import org.apache.kafka.common.message.CreatePartitionsRequestData.CreatePartitionsTopic;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableReplicaAssignment;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopic;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopicConfig;
import org.apache.kafka.common.message.CreateTopicsResponseData.CreatableTopicResult;
import org.apache.kafka.common.protocol.ApiKeys;

/** Creating, extending and deleting topics. */
final class TopicRequests {
    private final Cluster cluster;

    TopicRequests(Cluster cluster) {
        this.cluster = cluster;
    }

    void addTo(Map<String, Scenario.Action> actions) {
        actions.put("createTopics", this::create);
        actions.put("createPartitions", this::extend);
        actions.put("deleteTopics", this::delete);
    }

    private Reply<?> create(ObjectNode step) {
        CreateTopicsRequestData request = new CreateTopicsRequestData()
            .setValidateOnly(Fields.flag(step, "validate_only"));
        step.required("topics").forEach(topic -> request.topics().mustAdd(creatable(topic)));
        Set<String> described = Fields.flag(step, "describe")
            ? request.topics().stream().map(CreatableTopic::name).collect(Collectors.toSet())
            : Set.of();
        return new Reply<>(
            cluster.controller.createTopics(
                cluster.asking(ApiKeys.CREATE_TOPICS), request, described),
            answer -> Fields.array(answer.topics().stream()
                .map(topic -> show(topic, described.contains(topic.name())))
                .toList()));
    }

    private static CreatableTopic creatable(JsonNode topic) {
        CreatableTopic made = new CreatableTopic()
            .setName(Fields.text(topic, "name"))
            .setNumPartitions(Fields.integer(topic, "partitions", -1))
            .setReplicationFactor((short) Fields.integer(topic, "replication_factor", -1));
        for (JsonNode assignment : topic.path("assignments")) {
            // a bare list of replicas is that of the next partition
            boolean numbered = assignment.isObject();
            made.assignments().mustAdd(new CreatableReplicaAssignment()
                .setPartitionIndex(numbered
                    ? Fields.integer(assignment, "partition") : made.assignments().size())
                .setBrokerIds(Fields.integers(
                    numbered ? assignment.required("replicas") : assignment)));
        }
        topic.path("configs").properties().forEach(config -> made.configs().mustAdd(
            new CreatableTopicConfig()
                .setName(config.getKey()).setValue(Fields.orNull(config.getValue()))));
        return made;
    }

    private ObjectNode show(CreatableTopicResult topic, boolean described) {
        ObjectNode shown = Fields.outcome(topic.errorCode(), topic.errorMessage());
        shown.put("name", topic.name());
        if (topic.errorCode() != 0) {
            return shown;
        }
        cluster.labels.labelUnmade(topic.topicId());
        shown.put("topicId", topic.topicId().toString());
        if (described) {
            shown.put("numPartitions", topic.numPartitions());
            shown.put("replicationFactor", topic.replicationFactor());
            ObjectNode configs = shown.putObject("configs");
            topic.configs().forEach(config -> configs.putObject(config.name())
                .put("value", config.value()).put("source", config.configSource()));
        }
        return shown;
    }

    private Reply<?> extend(ObjectNode step) {
        List<CreatePartitionsTopic> topics = Fields.each(step.required("topics"), topic ->
            new CreatePartitionsTopic()
                .setName(Fields.text(topic, "name"))
                .setCount(Fields.integer(topic, "count"))
                .setAssignments(!topic.hasNonNull("assignments") ? null
                    : Fields.each(topic.get("assignments"), replicas ->
                        new CreatePartitionsAssignment()
                            .setBrokerIds(Fields.integers(replicas)))));
        return new Reply<>(
            cluster.controller.createPartitions(
                cluster.asking(ApiKeys.CREATE_PARTITIONS), topics,
                Fields.flag(step, "validate_only")),
            answer -> Fields.array(answer.stream()
                .map(topic -> Fields.outcome(topic.errorCode(), topic.errorMessage())
                    .put("name", topic.name()))
                .toList()));
    }

    private Reply<?> delete(ObjectNode step) {
        List<Uuid> asked = new ArrayList<>(); // with those that are asked for twice
        Map<Uuid, String> names = new LinkedHashMap<>();
        for (JsonNode name : step.required("topics")) {
            asked.add(cluster.view.topicId(name.asText()));
            names.put(asked.get(asked.size() - 1), name.asText());
        }
        return new Reply<>(
            cluster.controller.deleteTopics(cluster.asking(ApiKeys.DELETE_TOPICS), asked),
            answer -> {
                ArrayNode shown = Fields.JSON.createArrayNode();
                names.forEach((id, name) ->
                    shown.add(Fields.outcome(answer.get(id)).put("topic", name)));
                return shown;
            });
    }
}
