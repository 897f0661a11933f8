package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;

/**
 * Kafka's raft client as an oracle: one node of a quorum with static voters, all others are played
 * by scenarios. Reads a file of scenarios (vectors without their answers) and writes the vectors.
 * Arguments: the file to read, the file to write. It is in Kafka's package because the client and
 * the state of its quorum are visible only there.
 */
public final class QuorumOracle {
    static final ObjectMapper JSON = new ObjectMapper();

    private QuorumOracle() {
    }

    public static void main(String[] args) throws Exception {
        JsonNode given = JSON.readTree(new File(args[0]));
        ObjectNode made = JSON.createObjectNode().put("kafka", "4.1.0");
        ArrayNode cases = made.putArray("cases");
        for (JsonNode scenario : given.required("cases")) {
            ObjectNode vector = scenario.deepCopy();
            new Performance(new LoneClient(vector.required("settings"))).play(vector);
            cases.add(vector);
        }
        JSON.writeValue(new File(args[1]), made);
    }
}
