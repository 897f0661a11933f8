package kedge.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.AccessControlEntryRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;

/**
 * Labels in the place of ids: Kafka draws the ids of topics and ACLs at random, so that two runs of
 * one scenario would never be equal. The ids that requests bring along are made of their labels.
 */
final class Labels {
    private static final int ID_LENGTH = Uuid.ZERO_UUID.toString().length();

    private final Map<String, String> labelOfId = new HashMap<>();
    private final Map<String, Integer> created = new HashMap<>();

    Labels() {
        labelOfId.put(DirectoryId.MIGRATING.toString(), "dir:MIGRATING");
        labelOfId.put(DirectoryId.UNASSIGNED.toString(), "dir:UNASSIGNED");
        labelOfId.put(DirectoryId.LOST.toString(), "dir:LOST");
    }

    /** The id that a label of a request stands for: the same in every run. */
    Uuid idOf(String label) {
        switch (label) {
            case "dir:MIGRATING":
                return DirectoryId.MIGRATING;
            case "dir:UNASSIGNED":
                return DirectoryId.UNASSIGNED;
            case "dir:LOST":
                return DirectoryId.LOST;
            default:
                UUID made = UUID.nameUUIDFromBytes(label.getBytes(StandardCharsets.UTF_8));
                Uuid id = new Uuid(made.getMostSignificantBits(), made.getLeastSignificantBits());
                labelOfId.put(id.toString(), label);
                return id;
        }
    }

    /** A topic of an answer that no record made. */
    void labelUnmade(Uuid topic) {
        labelOfId.putIfAbsent(topic.toString(), "topic:?");
    }

    /** A new record: what it creates is labelled by its kind and how many there were before. */
    void learn(ApiMessage record) {
        if (record instanceof TopicRecord topic) {
            String label = "topic:" + topic.name();
            int count = created.merge(label, 1, Integer::sum);
            labelOfId.put(topic.topicId().toString(), count == 1 ? label : label + "#" + count);
        } else if (record instanceof AccessControlEntryRecord acl) {
            labelOfId.put(acl.id().toString(), "acl:" + created.merge("acl", 1, Integer::sum));
        }
    }

    /** The log will be read once more from its start: counting begins again. */
    void recount() {
        created.clear();
    }

    /** Puts labels for the ids in some JSON, also for those within longer texts. */
    JsonNode applyTo(JsonNode shown) {
        if (shown.isTextual()) {
            return TextNode.valueOf(applyTo(shown.textValue()));
        }
        if (shown instanceof ArrayNode list) {
            for (int at = 0; at < list.size(); at++) {
                list.set(at, applyTo(list.get(at)));
            }
        } else if (shown instanceof ObjectNode object) {
            object.properties().forEach(field -> field.setValue(applyTo(field.getValue())));
        }
        return shown;
    }

    private String applyTo(String text) {
        StringBuilder labelled = new StringBuilder();
        int at = 0;
        while (at < text.length()) {
            int end = at + ID_LENGTH;
            String label = end > text.length() ? null : labelOfId.get(text.substring(at, end));
            labelled.append(label == null ? text.substring(at, at + 1) : label);
            at = label == null ? at + 1 : end;
        }
        return labelled.toString();
    }
}
