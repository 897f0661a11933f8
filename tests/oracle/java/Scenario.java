import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import kafka.controller.ControllerContext;
import kafka.server.KafkaConfig;
import kafka.zk.KafkaZkClient;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.client.ZKClientConfig;
import scala.jdk.javaapi.CollectionConverters;

/** Plays one scenario on a folder of its own in ZooKeeper; says what was seen after each step. */
final class Scenario implements AutoCloseable {
    private final Properties given = new Properties();
    private final Tree tree;
    private final Recorder brokers;
    private Watched controller;

    private Scenario(String address, JsonNode input) throws Exception {
        MetadataVersion ibp = MetadataVersion.fromVersionString(input.path("ibp").asText("3.9"));
        given.put("zookeeper.connect", address);
        given.put("listeners", "PLAINTEXT://127.0.0.1:9092");
        given.put("auto.leader.rebalance.enable", "false");
        given.put("inter.broker.protocol.version", ibp.version());
        if (ibp.isLessThan(MetadataVersion.IBP_0_11_0_IV2)) {
            given.put("log.message.format.version", ibp.version()); // may not be newer
        }
        given.put("broker.id", "0");
        input.path("config").fields().forEachRemaining(
            entry -> given.put(entry.getKey(), entry.getValue().asText()));
        // the first session makes the folder and what brokers expect in it
        KafkaZkClient first = KafkaZkClient.createZkClient(
            "oracle", Time.SYSTEM, KafkaConfig.fromProps(given, false), new ZKClientConfig());
        first.createTopLevelPaths();
        first.close();
        tree = new Tree(address, ibp.isTopicIdsSupported());
        brokers = new Recorder(KafkaConfig.fromProps(given, false));
    }

    /** The steps that could be played and what was seen before and after each of them. */
    static ObjectNode play(String address, JsonNode input) throws Exception {
        try (Scenario scenario = new Scenario(address, input)) {
            ObjectNode played = View.JSON.createObjectNode();
            ArrayNode after = played.putArray("after");
            ArrayNode steps = played.putArray("steps");
            scenario.setTheStage(input);
            int me = input.path("controller").asInt(100);
            scenario.controller = Watched.start(me, scenario.given, scenario.brokers);
            after.add(scenario.look(null).put("step", "start"));
            for (JsonNode step : input.path("steps")) {
                try {
                    JsonNode result = scenario.act(step);
                    steps.add(step);
                    String name = steps.size() + ":" + step.get("op").asText();
                    after.add(scenario.look(result).put("step", name));
                } catch (KeeperException | Tree.Impossible refused) {
                    // not a step that can be taken here
                }
            }
            return played;
        }
    }

    @Override
    public void close() throws InterruptedException {
        if (controller != null) {
            controller.stop();
        }
        tree.close();
    }

    private void setTheStage(JsonNode input) throws Exception {
        for (JsonNode broker : input.get("brokers")) {
            tree.register(broker.asInt());
        }
        if (input.has("controller_epoch")) {
            tree.create(
                Tree.EPOCH, Tree.bytes(input.get("controller_epoch").asText()),
                CreateMode.PERSISTENT);
        }
        for (var topic : (Iterable<Map.Entry<String, JsonNode>>) input.path("topics")::fields) {
            tree.createTopic(topic.getKey(), topic.getValue(), null);
        }
        for (JsonNode topic : input.path("delete_topics")) {
            tree.create("/admin/delete_topics/" + topic.asText(), null);
        }
        if (input.has("reassign_partitions")) {
            tree.writePlan(input.get("reassign_partitions"), false);
        }
        if (input.has("preferred_replica_election")) {
            List<TopicPartition> chosen = partitions(input.get("preferred_replica_election"));
            tree.create(Tree.ELECTION, Tree.partitions(chosen));
        }
    }

    private ObjectNode look(JsonNode result) throws Exception {
        controller.settle();
        ObjectNode shown = View.JSON.createObjectNode();
        shown.set("requests", brokers.takeSent());
        if (!controller.accidents.isEmpty()) {
            ArrayNode accidents = shown.putArray("accidents");
            controller.accidents.forEach(accidents::add);
            controller.accidents.clear();
        }
        if (result != null) {
            shown.set("result", result);
        }
        shown.put("active", controller.isActive());
        View.show(context(), shown);
        View.show(tree.zookeeper, shown.putObject("zk"));
        return shown;
    }

    private ControllerContext context() {
        return controller.controllerContext();
    }

    // ---- steps -------------------------------------------------------------------------------

    /** Take a step; the answer that a caller got, or null if there is no caller. */
    private JsonNode act(JsonNode step) throws Exception {
        int broker = step.path("broker").asInt(-1);
        switch (step.get("op").asText()) {
            case "create_topic" ->
                tree.createTopic(text(step, "topic"), step.get("partitions"), step.get("config"));
            case "add_partitions" ->
                tree.addPartitions(text(step, "topic"), step.get("partitions"));
            case "delete_topic" ->
                tree.create("/admin/delete_topics/" + text(step, "topic"), null);
            case "broker_up" -> tree.register(broker);
            case "broker_down" -> tree.zookeeper.delete(Tree.brokerPath(broker), -1);
            case "broker_bounce" -> tree.bounce(broker);
            case "log_dir_failure" -> tree.failLogDir(broker);
            case "zk_isr_change" -> tree.changeIsr(
                Tree.partition(text(step, "partition")), step.get("isr"),
                step.path("notify").asBoolean(true));
            case "zk_preferred_election" -> tree.create(
                Tree.ELECTION, Tree.partitions(partitions(step.get("partitions"))));
            case "zk_reassign" -> tree.writePlan(
                step.has("raw") ? step.get("raw") : step.get("plan"),
                step.path("update").asBoolean());
            case "steal_controller" ->
                tree.steal(step.path("to").asInt(), step.path("only_epoch").asBoolean());
            case "failover" -> failover(step.get("to").asInt());
            case "set_response" -> setResponse(step);
            case "enable_unclean" -> {
                tree.enableUnclean(text(step, "topic"));
                controller.enableTopicUncleanLeaderElection(text(step, "topic"));
            }
            default -> {
                return new Calls(controller).act(step);
            }
        }
        return null;
    }

    private void failover(int next) throws Exception {
        controller.stop();
        controller = Watched.start(next, given, brokers);
    }

    private void setResponse(JsonNode step) {
        String mode = text(step, "mode");
        Set<TopicPartition> chosen = !step.hasNonNull("partitions") ? null
            : Stream.of(text(step, "partitions").split(","))
                .map(name -> Tree.partition(name.strip()))
                .collect(Collectors.toSet());
        Recorder.Mode wanted = switch (mode) {
            case "ok" -> new Recorder.Mode(false, Errors.NONE, null);
            case "none" -> new Recorder.Mode(true, Errors.NONE, null);
            default -> new Recorder.Mode(false, Errors.valueOf(mode), chosen);
        };
        brokers.setMode(step.get("broker").asInt(), text(step, "api"), wanted);
    }

    // ---- reading steps -----------------------------------------------------------------------

    static String text(JsonNode step, String key) {
        return step.get(key).asText();
    }

    static List<TopicPartition> partitions(JsonNode names) {
        List<TopicPartition> chosen = new ArrayList<>();
        names.forEach(name -> chosen.add(Tree.partition(name.asText())));
        return chosen;
    }

    static List<Object> ids(JsonNode numbers) {
        List<Object> ids = new ArrayList<>();
        numbers.forEach(number -> ids.add(number.asInt()));
        return ids;
    }

    static <K, V> scala.collection.immutable.Map<K, V> scalaMap(Map<K, V> map) {
        return scala.collection.immutable.Map.from(
            CollectionConverters.asScala(new HashMap<>(map)));
    }
}
