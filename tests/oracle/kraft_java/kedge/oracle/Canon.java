package kedge.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * The form in which records are compared. Kafka walks hash tables when it writes some of them, so
 * that their order tells nothing: those are put in the order of what they are about.
 */
final class Canon {
    private static final Comparator<JsonNode> IN_SNAPSHOT = Comparator
        .comparing(Canon::kind)
        .thenComparing(record -> data(record, "brokerId").asInt())
        .thenComparing(record -> data(record, "name").asText())
        .thenComparing(Canon::subject)
        .thenComparing(record -> data(record, "id").asText());

    private Canon() {
    }

    /** One record as JSON, with labels for ids. */
    static ObjectNode show(ApiMessageAndVersion record, Labels labels) {
        ApiMessage message = record.message();
        JsonNode content = MetadataJsonConverters.writeJson(message, record.version());
        labels.applyTo(content);
        sort(content.path("eligibleLeaderReplicas"), Comparator.comparing(JsonNode::asInt));
        sort(content.path("features"),
            Comparator.comparing(feature -> Fields.text(feature, "name")));
        ObjectNode shown = Fields.object();
        shown.put("type", message.getClass().getSimpleName().replaceFirst("Record$", ""));
        shown.put("version", record.version());
        return shown.set("data", content);
    }

    private static void sort(JsonNode list, Comparator<JsonNode> order) {
        if (list instanceof ArrayNode unsorted) {
            List<JsonNode> elements = Fields.listOf(unsorted);
            unsorted.removeAll();
            elements.stream().sorted(order).forEach(unsorted::add);
        }
    }

    /** The records of a step: the order of kinds is Kafka's, neighbours of one kind are sorted. */
    static ArrayNode ofStep(List<ObjectNode> written) {
        List<JsonNode> ordered = new ArrayList<>();
        List<JsonNode> neighbours = new ArrayList<>();
        for (ObjectNode record : written) {
            if (!neighbours.isEmpty() && !kind(neighbours.get(0)).equals(kind(record))) {
                neighbours.sort(Comparator.comparing(Canon::subject));
                ordered.addAll(neighbours);
                neighbours.clear();
            }
            neighbours.add(record);
        }
        neighbours.sort(Comparator.comparing(Canon::subject));
        ordered.addAll(neighbours);
        return Fields.array(ordered);
    }

    /** The records of a snapshot: here even the order of kinds tells nothing. */
    static ArrayNode ofSnapshot(List<ObjectNode> written) {
        return Fields.array(written.stream().sorted(IN_SNAPSHOT).toList());
    }

    private static String kind(JsonNode record) {
        return Fields.text(record, "type");
    }

    private static JsonNode data(JsonNode record, String field) {
        return record.get("data").path(field);
    }

    /** What a record is about; one subject for all whose order in the log does tell something. */
    private static String subject(JsonNode record) {
        return switch (kind(record)) {
            case "Partition", "PartitionChange" -> joined(record, "topicId")
                + "/%09d".formatted(data(record, "partitionId").asInt());
            case "RemoveTopic" -> joined(record, "topicId");
            case "ClearElr" -> joined(record, "topicName");
            case "FeatureLevel" -> joined(record, "name");
            case "RemoveAccessControlEntry" -> joined(record, "id");
            case "Config" -> String.join("/", joined(record, "resourceType"),
                joined(record, "resourceName"), joined(record, "name"));
            case "ClientQuota" -> data(record, "entity") + joined(record, "key");
            case "UserScramCredential", "RemoveUserScramCredential" ->
                joined(record, "name", "mechanism");
            default -> "";
        };
    }

    private static String joined(JsonNode record, String... fields) {
        StringBuilder made = new StringBuilder();
        for (String field : fields) {
            made.append(data(record, field).asText());
        }
        return made.toString();
    }
}
