package kedge.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;

/**
 * Kafka's QuorumController as an oracle. Reads a file of scenarios (vectors without their answers)
 * and writes them with what Kafka answers and with the records it writes. One that cannot be played
 * to its end is written with "failed". Arguments: the file to read, the file to write.
 */
public final class Oracle {
    private Oracle() {
    }

    public static void main(String[] args) throws Exception {
        JsonNode given = Fields.JSON.readTree(new File(args[0]));
        ObjectNode made = Fields.object().put("kafka", "4.1.0");
        ArrayNode cases = made.putArray("cases");
        for (JsonNode scenario : given.required("cases")) {
            cases.add(played(scenario));
        }
        Fields.JSON.writeValue(new File(args[1]), made);
        System.exit(0); // a controller that is stuck has threads that would go on
    }

    private static ObjectNode played(JsonNode scenario) throws Exception {
        ObjectNode vector = scenario.deepCopy();
        try (Cluster cluster = new Cluster(vector.withObject("/settings"))) {
            try {
                new Scenario(cluster).play(vector);
            } catch (Exception failure) {
                vector.remove("steps");
                vector.put("failed", failure.toString());
            }
            if (!cluster.faults.isEmpty()) {
                cluster.faults.forEach(vector.putArray("faults")::add);
            }
        }
        return vector;
    }
}
