import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.admin.AdminUtils;
import org.apache.kafka.admin.BrokerMetadata;
import org.apache.kafka.metadata.placement.ClusterDescriber;
import org.apache.kafka.metadata.placement.PartitionAssignment;
import org.apache.kafka.metadata.placement.PlacementSpec;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.metadata.placement.UsableBroker;

/** Reads one question in JSON per line and prints Kafka's answer: lists by id, or an error's name. */
public final class KafkaAnswers {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] none) throws Exception {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println("answer " + JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static Object answer(JsonNode asked) {
        try {
            switch (asked.get("kind").asText()) {
                case "manual": return manual(asked.get("text").asText());
                case "stripe": return striped(asked);
                default: return ring(asked);
            }
        } catch (Throwable refusal) {
            return refusal.getClass().getSimpleName().replace("Exception", "");
        }
    }

    private static Object manual(String text) throws Throwable {
        Method parse = Class.forName("org.apache.kafka.tools.TopicCommand")
            .getDeclaredMethod("parseReplicaAssignment", String.class);
        parse.setAccessible(true);
        try {
            return parse.invoke(null, text);
        } catch (InvocationTargetException wrapped) {
            throw wrapped.getCause();
        }
    }

    private static Object ring(JsonNode asked) {
        List<BrokerMetadata> brokers = new ArrayList<>();
        for (JsonNode broker : asked.get("brokers")) {
            brokers.add(new BrokerMetadata(broker.get("id").asInt(), rack(broker)));
        }
        return new TreeMap<>(AdminUtils.assignReplicasToBrokers(
            brokers, number(asked, "partitions"), number(asked, "rf"), number(asked, "start"),
            number(asked, "startPartitionId")));
    }

    private static Object striped(JsonNode asked) {
        List<UsableBroker> brokers = new ArrayList<>();
        for (JsonNode broker : asked.get("brokers")) {
            boolean fenced = broker.get("fenced").asBoolean();
            brokers.add(new UsableBroker(broker.get("id").asInt(), rack(broker), fenced));
        }
        ClusterDescriber cluster = (ClusterDescriber) Proxy.newProxyInstance(
            KafkaAnswers.class.getClassLoader(), new Class<?>[] {ClusterDescriber.class},
            (self, method, arguments) ->
                method.getName().equals("usableBrokers") ? brokers.iterator() : null);
        PlacementSpec spec =
            new PlacementSpec(0, number(asked, "partitions"), (short) number(asked, "rf"));
        Map<Integer, List<Integer>> rows = new TreeMap<>();
        var placer = new StripedReplicaPlacer(constant(number(asked, "draw")));
        for (PartitionAssignment row : placer.place(spec, cluster).assignments()) {
            rows.put(rows.size(), row.replicas());
        }
        return rows;
    }

    private static Random constant(int draw) {
        return new Random() {
            @Override
            public int nextInt(int bound) {
                return draw % bound;
            }
        };
    }

    private static int number(JsonNode asked, String field) {
        return asked.get(field).asInt();
    }

    private static Optional<String> rack(JsonNode broker) {
        JsonNode rack = broker.get("rack");
        return rack.isNull() ? Optional.empty() : Optional.of(rack.asText());
    }
}
