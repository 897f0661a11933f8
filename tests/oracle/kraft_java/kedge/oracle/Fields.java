package kedge.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.StreamSupport;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ApiError;

/** Reading the fields of scenarios, and writing those of answers. */
final class Fields {
    static final ObjectMapper JSON = new ObjectMapper();

    private Fields() {
    }

    // ---- reading -----------------------------------------------------------------------------

    static String text(JsonNode from, String field) {
        return from.required(field).asText();
    }

    /** A text that may be left out or null, both of which mean null. */
    static String textOrNull(JsonNode from, String field) {
        return orNull(from.path(field));
    }

    static String orNull(JsonNode value) {
        return value.isNull() || value.isMissingNode() ? null : value.asText();
    }

    static int integer(JsonNode from, String field) {
        return from.required(field).asInt();
    }

    static int integer(JsonNode from, String field, int otherwise) {
        return from.hasNonNull(field) ? from.get(field).asInt() : otherwise;
    }

    /** A yes-or-no that is no when left out. */
    static boolean flag(JsonNode from, String field) {
        return from.path(field).asBoolean();
    }

    static List<Integer> integers(JsonNode list) {
        return each(list, JsonNode::asInt);
    }

    static <T> List<T> each(JsonNode list, Function<JsonNode, T> read) {
        List<T> made = new ArrayList<>();
        list.forEach(one -> made.add(read.apply(one)));
        return made;
    }

    /** An object's texts by key. Sorted: Kafka sees the keys of a map in an order that is known. */
    static <T> Map<String, T> entries(JsonNode object, Function<JsonNode, T> read) {
        Map<String, T> made = new TreeMap<>();
        object.properties().forEach(
            field -> made.put(field.getKey(), read.apply(field.getValue())));
        return made;
    }

    static <T> List<T> listOf(Iterable<T> all) {
        return StreamSupport.stream(all.spliterator(), false).toList();
    }

    // ---- writing -----------------------------------------------------------------------------

    static ObjectNode object() {
        return JSON.createObjectNode();
    }

    static ArrayNode array(Collection<? extends JsonNode> elements) {
        return JSON.createArrayNode().addAll(elements);
    }

    static ArrayNode numbers(Iterable<Integer> values) {
        ArrayNode made = JSON.createArrayNode();
        values.forEach(made::add);
        return made;
    }

    static ObjectNode outcome(ApiError error) {
        return object().put("error", error.error().name()).put("message", error.message());
    }

    static ObjectNode outcome(short code, String message) {
        return object().put("error", nameOf(code)).put("message", message);
    }

    static ObjectNode outcome(Throwable refusal) {
        return outcome(ApiError.fromThrowable(refusal));
    }

    static String nameOf(short code) {
        return Errors.forCode(code).name();
    }
}
