import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** Everybody else who writes to ZooKeeper: brokers that register, leaders, administrators. */
final class Tree implements AutoCloseable {
    static final String CONTROLLER = "/controller";
    static final String EPOCH = "/controller_epoch";
    static final String PLAN = "/admin/reassign_partitions";
    static final String ELECTION = "/admin/preferred_replica_election";

    final ZooKeeper zookeeper;
    private final boolean topicIds;

    Tree(String address, boolean topicIds) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        zookeeper = new ZooKeeper(address, 30_000, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        connected.await();
        this.topicIds = topicIds;
    }

    @Override
    public void close() throws InterruptedException {
        zookeeper.close();
    }

    // ---- topics ------------------------------------------------------------------------------

    void createTopic(String topic, JsonNode partitions, JsonNode config) throws Exception {
        if (View.read(zookeeper, topicPath(topic)) != null) {
            throw new Impossible();
        }
        if (config != null) {
            ObjectNode value = View.JSON.createObjectNode().put("version", 1);
            value.set("config", config);
            create("/config/topics/" + topic, value);
        }
        ObjectNode value = View.JSON.createObjectNode().put("version", 3);
        if (topicIds) {
            value.put("topic_id", idOf(topic).toString());
        }
        for (String key : List.of("partitions", "adding_replicas", "removing_replicas")) {
            value.putObject(key);
        }
        partitions.fields().forEachRemaining(p -> assign(value, p.getKey(), p.getValue()));
        create(topicPath(topic), value);
        for (var entry : (Iterable<java.util.Map.Entry<String, JsonNode>>) partitions::fields) {
            JsonNode state = entry.getValue().get("state");
            if (state != null && !state.isNull()) {
                int number = Integer.parseInt(entry.getKey());
                createState(new TopicPartition(topic, number), state);
            }
        }
    }

    void addPartitions(String topic, JsonNode partitions) throws Exception {
        byte[] data = View.read(zookeeper, topicPath(topic));
        if (data == null) {
            throw new Impossible();
        }
        ObjectNode value = (ObjectNode) View.JSON.readTree(data);
        partitions.fields().forEachRemaining(p -> assign(value, p.getKey(), p.getValue()));
        set(topicPath(topic), value);
    }

    private static void assign(ObjectNode topic, String partition, JsonNode wanted) {
        boolean plain = wanted.isArray();
        ((ObjectNode) topic.get("partitions"))
            .set(partition, plain ? wanted : wanted.get("replicas"));
        for (String key : List.of("adding", "removing")) {
            ObjectNode moving = (ObjectNode) topic.get(key + "_replicas");
            moving.remove(partition);
            if (!plain && wanted.has(key) && !wanted.get(key).isEmpty()) {
                moving.set(partition, wanted.get(key));
            }
        }
    }

    private void createState(TopicPartition tp, JsonNode state) throws KeeperException {
        ObjectNode value = View.JSON.createObjectNode()
            .put("controller_epoch", state.path("controller_epoch").asInt(1))
            .put("leader", state.get("leader").asInt())
            .put("version", 1)
            .put("leader_epoch", state.path("leader_epoch").asInt(0));
        value.set("isr", state.get("isr"));
        int recovery = state.path("leader_recovery_state").asInt(state.path("recovery").asInt(0));
        if (recovery != 0) {
            value.put("leader_recovery_state", recovery);
        }
        String folder = topicPath(tp.topic()) + "/partitions";
        try {
            create(folder, (JsonNode) null);
        } catch (KeeperException.NodeExistsException another) {
            // a partition before this one made it
        }
        create(folder + "/" + tp.partition(), (JsonNode) null);
        create(statePath(tp), value);
    }

    void changeIsr(TopicPartition tp, JsonNode isr, boolean notify) throws Exception {
        byte[] data = View.read(zookeeper, statePath(tp));
        if (data == null) {
            throw new Impossible();
        }
        ObjectNode value = (ObjectNode) View.JSON.readTree(data);
        value.set("isr", isr);
        set(statePath(tp), value);
        if (notify) {
            create(
                "/isr_change_notification/isr_change_", partitions(List.of(tp)),
                CreateMode.PERSISTENT_SEQUENTIAL);
        }
    }

    void enableUnclean(String topic) throws KeeperException {
        ObjectNode value = View.JSON.createObjectNode().put("version", 1);
        value.putObject("config").put("unclean.leader.election.enable", "true");
        try {
            create("/config/topics/" + topic, value);
        } catch (KeeperException.NodeExistsException configured) {
            set("/config/topics/" + topic, value);
        }
    }

    // ---- orders ------------------------------------------------------------------------------

    void writePlan(JsonNode plan, boolean update) throws KeeperException {
        byte[] data = bytes(plan.isTextual() ? plan.asText() : planOf(plan).toString());
        if (update) {
            set(PLAN, data);
        } else {
            create(PLAN, data, CreateMode.PERSISTENT);
        }
    }

    private static ObjectNode planOf(JsonNode plan) {
        ObjectNode value = View.JSON.createObjectNode().put("version", 1);
        ArrayNode list = value.putArray("partitions");
        plan.fields().forEachRemaining(entry -> {
            TopicPartition tp = partition(entry.getKey());
            list.addObject().put("topic", tp.topic()).put("partition", tp.partition())
                .set("replicas", entry.getValue());
        });
        return value;
    }

    static ObjectNode partitions(List<TopicPartition> chosen) {
        ObjectNode value = View.JSON.createObjectNode().put("version", 1);
        ArrayNode list = value.putArray("partitions");
        chosen.forEach(tp ->
            list.addObject().put("topic", tp.topic()).put("partition", tp.partition()));
        return value;
    }

    // ---- brokers and controllers -------------------------------------------------------------

    void register(int broker) throws KeeperException {
        create(brokerPath(broker), bytes(registration(broker)), CreateMode.EPHEMERAL);
    }

    void bounce(int broker) throws Exception {
        zookeeper.multi(List.of(
            Op.delete(brokerPath(broker), -1),
            Op.create(
                brokerPath(broker), bytes(registration(broker)),
                Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL)));
    }

    private static String registration(int broker) {
        int port = 9092 + broker;
        ObjectNode value = View.JSON.createObjectNode().put("version", 5)
            .put("host", "localhost").put("port", port).put("jmx_port", -1).put("timestamp", "0");
        value.putObject("features");
        value.putObject("listener_security_protocol_map").put("PLAINTEXT", "PLAINTEXT");
        value.putArray("endpoints").add("PLAINTEXT://localhost:" + port);
        return value.toString();
    }

    void failLogDir(int broker) throws KeeperException {
        ObjectNode value = View.JSON.createObjectNode()
            .put("version", 1).put("broker", broker).put("event", 1);
        create(
            "/log_dir_event_notification/log_dir_event_", value,
            CreateMode.PERSISTENT_SEQUENTIAL);
    }

    void steal(int thief, boolean onlyEpoch) throws Exception {
        byte[] known = View.read(zookeeper, EPOCH);
        byte[] raised = bytes(String.valueOf(Integer.parseInt(new String(known)) + 1));
        if (onlyEpoch) {
            set(EPOCH, raised);
            return;
        }
        ObjectNode claim = View.JSON.createObjectNode().put("version", 2)
            .put("brokerid", thief).put("timestamp", "0").put("kraftControllerEpoch", -1);
        zookeeper.multi(List.of(
            Op.delete(CONTROLLER, -1),
            Op.create(
                CONTROLLER, bytes(claim.toString()), Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL),
            Op.setData(EPOCH, raised, -1)));
    }

    // ---- nodes -------------------------------------------------------------------------------

    void create(String path, JsonNode value) throws KeeperException {
        create(path, value, CreateMode.PERSISTENT);
    }

    void create(String path, JsonNode value, CreateMode mode) throws KeeperException {
        create(path, value == null ? null : bytes(value.toString()), mode);
    }

    void create(String path, byte[] data, CreateMode mode) throws KeeperException {
        try {
            zookeeper.create(path, data, Ids.OPEN_ACL_UNSAFE, mode);
        } catch (InterruptedException stopped) {
            throw new IllegalStateException(stopped);
        }
    }

    private void set(String path, JsonNode value) throws KeeperException {
        set(path, bytes(value.toString()));
    }

    private void set(String path, byte[] data) throws KeeperException {
        try {
            zookeeper.setData(path, data, -1);
        } catch (InterruptedException stopped) {
            throw new IllegalStateException(stopped);
        }
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String topicPath(String topic) {
        return "/brokers/topics/" + topic;
    }

    static String brokerPath(int broker) {
        return "/brokers/ids/" + broker;
    }

    private static String statePath(TopicPartition tp) {
        return topicPath(tp.topic()) + "/partitions/" + tp.partition() + "/state";
    }

    static TopicPartition partition(String name) {
        int dash = name.lastIndexOf('-');
        return new TopicPartition(
            name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
    }

    private static Uuid idOf(String topic) {
        return new Uuid(0x4b65646765000000L, topic.hashCode() & 0xffffffffL | 1L << 40);
    }

    /** A step that cannot be played as things are: it is left out. */
    static final class Impossible extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }
}
