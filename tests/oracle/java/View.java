import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import kafka.api.LeaderAndIsr;
import kafka.controller.ControllerContext;
import kafka.controller.PartitionAndReplica;
import kafka.controller.ReplicaAssignment;
import org.apache.kafka.common.TopicPartition;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import scala.jdk.javaapi.CollectionConverters;

/** What is compared after each step: the controller's tables and the tree in ZooKeeper. */
final class View {
    static final ObjectMapper JSON = new ObjectMapper();

    private View() {
    }

    // ---- the controller's tables -------------------------------------------------------------

    static void show(ControllerContext context, ObjectNode shown) {
        shown.put("controller_epoch", context.epoch());
        ObjectNode partitions = shown.putObject("partitions");
        for (TopicPartition tp : CollectionConverters.asJava(context.allPartitions())) {
            show(context, tp, partitions.putObject(tp.toString()));
        }
        ObjectNode sets = shown.putObject("sets");
        putSorted(sets, "live", context.liveBrokerIds());
        putSorted(sets, "shutting_down", context.shuttingDownBrokerIds());
        putNames(sets, "being_reassigned", context.partitionsBeingReassigned());
        putNames(sets, "topics_to_be_deleted", context.topicsToBeDeleted());
        putNames(sets, "topics_with_deletion_started", context.topicsWithDeletionStarted());
        putNames(sets, "topics_ineligible_for_deletion", context.topicsIneligibleForDeletion());
        sets.put("offline_partition_count", context.offlinePartitionCount());
        sets.put("preferred_replica_imbalance_count", context.preferredReplicaImbalanceCount());
    }

    private static void show(ControllerContext context, TopicPartition tp, ObjectNode shown) {
        var state = context.partitionStates().get(tp);
        shown.put("state", state.isEmpty() ? "NonExistentPartition" : name(state.get()));
        ReplicaAssignment assignment = context.partitionFullReplicaAssignment(tp);
        show(assignment, shown.putObject("assignment"));
        ObjectNode replicas = shown.putObject("replica_states");
        for (Object id : CollectionConverters.asJava(assignment.replicas())) {
            var known = context.replicaStates().get(new PartitionAndReplica(tp, (Integer) id));
            if (known.isDefined()) {
                replicas.put(id.toString(), name(known.get()));
            }
        }
        var leadership = context.partitionLeadershipInfo(tp);
        if (leadership.isDefined()) {
            LeaderAndIsr now = leadership.get().leaderAndIsr();
            shown.put("leader", now.leader()).put("leader_epoch", now.leaderEpoch());
            put(shown, "isr", CollectionConverters.asJava(now.isr()));
            shown.put("partition_epoch", now.partitionEpoch());
        }
    }

    static void show(ReplicaAssignment assignment, ObjectNode shown) {
        put(shown, "replicas", CollectionConverters.asJava(assignment.replicas()));
        put(shown, "adding", CollectionConverters.asJava(assignment.addingReplicas()));
        put(shown, "removing", CollectionConverters.asJava(assignment.removingReplicas()));
    }

    private static String name(Object singleton) {
        return singleton.getClass().getSimpleName().replace("$", "");
    }

    static void put(ObjectNode node, String key, Iterable<?> ids) {
        ArrayNode list = node.putArray(key);
        if (ids != null) {
            ids.forEach(id -> list.add((Integer) id));
        }
    }

    private static void putSorted(
        ObjectNode node, String key, scala.collection.Iterable<Object> ids) {
        List<Integer> sorted = new ArrayList<>();
        CollectionConverters.asJava(ids).forEach(id -> sorted.add((Integer) id));
        Collections.sort(sorted);
        put(node, key, sorted);
    }

    private static void putNames(
        ObjectNode node, String key, scala.collection.Iterable<?> things) {
        List<String> sorted = new ArrayList<>();
        CollectionConverters.asJava(things).forEach(thing -> sorted.add(thing.toString()));
        Collections.sort(sorted);
        ArrayNode list = node.putArray(key);
        sorted.forEach(list::add);
    }

    // ---- the tree ----------------------------------------------------------------------------

    static void show(ZooKeeper zookeeper, ObjectNode shown) throws Exception {
        ObjectNode topics = shown.putObject("topics");
        for (String topic : children(zookeeper, "/brokers/topics")) {
            show(zookeeper, "/brokers/topics/" + topic, topics.putObject(topic));
        }
        byte[] plan = read(zookeeper, "/admin/reassign_partitions");
        if (plan != null) {
            shown.set("reassign_partitions", plan(new String(plan)));
        }
        ArrayNode deleted = shown.putArray("delete_topics");
        children(zookeeper, "/admin/delete_topics").forEach(deleted::add);
        shown.put(
            "preferred_replica_election",
            read(zookeeper, "/admin/preferred_replica_election") != null);
        shown.put(
            "isr_change_notifications", children(zookeeper, "/isr_change_notification").size());
        shown.put("log_dir_events", children(zookeeper, "/log_dir_event_notification").size());
    }

    private static void show(ZooKeeper zookeeper, String path, ObjectNode shown) throws Exception {
        JsonNode value = JSON.readTree(read(zookeeper, path));
        shown.set("partitions", value.get("partitions"));
        for (String key : List.of("adding_replicas", "removing_replicas")) {
            shown.set(key, value.has(key) ? value.get(key) : JSON.createObjectNode());
        }
        ObjectNode states = shown.putObject("states");
        for (String partition : children(zookeeper, path + "/partitions")) {
            byte[] state = read(zookeeper, path + "/partitions/" + partition + "/state");
            if (state != null) {
                ObjectNode fields = (ObjectNode) JSON.readTree(state);
                states.set(partition, fields.without("version"));
            }
        }
    }

    private static JsonNode plan(String text) {
        try {
            JsonNode found = JSON.readTree(text).get("partitions");
            return found == null ? JSON.getNodeFactory().textNode(text) : found;
        } catch (JsonProcessingException notJson) {
            return JSON.getNodeFactory().textNode(text);
        }
    }

    private static List<String> children(ZooKeeper zookeeper, String path) throws Exception {
        try {
            List<String> names = new ArrayList<>(zookeeper.getChildren(path, false));
            Collections.sort(names);
            return names;
        } catch (KeeperException.NoNodeException none) {
            return List.of();
        }
    }

    static byte[] read(ZooKeeper zookeeper, String path) throws Exception {
        try {
            byte[] data = zookeeper.getData(path, false, null);
            return data == null ? new byte[0] : data;
        } catch (KeeperException.NoNodeException none) {
            return null;
        }
    }
}
