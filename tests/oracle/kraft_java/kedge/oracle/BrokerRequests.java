package kedge.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.message.AllocateProducerIdsRequestData;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData.DirectoryData;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData.PartitionData;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData.TopicData;
import org.apache.kafka.common.message.AssignReplicasToDirsResponseData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.ControllerRegistrationRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.controller.QuorumFeatures;

/** What the nodes of a cluster ask for themselves. */
final class BrokerRequests {
    private final Cluster cluster;

    BrokerRequests(Cluster cluster) {
        this.cluster = cluster;
    }

    void addTo(Map<String, Scenario.Action> actions) {
        actions.put("register", this::register);
        actions.put("heartbeat", this::heartbeat);
        actions.put("unregister", this::unregister);
        actions.put("assignDirs", this::assignDirs);
        actions.put("allocateProducerIds", this::allocateProducerIds);
        actions.put("registerController", this::registerController);
    }

    /** The epoch that a broker sends, written into its step: its own, an older one, any number. */
    static long epoch(Cluster cluster, ObjectNode step) {
        int broker = Fields.integer(step, "broker");
        String asked = step.path("epoch").asText("null");
        long epoch = switch (asked) {
            case "null" -> cluster.view.epochOf(broker, -1);
            case "stale" -> cluster.view.epochOf(broker, 0) - 1;
            default -> Long.parseLong(asked);
        };
        step.put("epoch", epoch);
        return epoch;
    }

    private Reply<?> register(ObjectNode step) {
        int broker = Fields.integer(step, "broker");
        if (!step.has("dirs")) {
            step.putArray("dirs").add("dir:" + broker);
        }
        if (!step.has("features")) {
            ObjectNode features = step.putObject("features");
            new TreeMap<>(QuorumFeatures.defaultSupportedFeatureMap(false)).forEach(
                (name, range) -> features.putArray(name).add(range.min()).add(range.max()));
        }
        if (step.path("previous_epoch").asText().equals("current")) {
            step.put("previous_epoch", cluster.view.epochOf(broker, -1));
        }
        BrokerRegistrationRequestData request = new BrokerRegistrationRequestData()
            .setBrokerId(broker)
            .setClusterId(step.path("cluster").asText(Cluster.ID))
            .setIncarnationId(cluster.labels.idOf(
                step.path("incarnation").asText("inc:" + broker)))
            .setPreviousBrokerEpoch(step.path("previous_epoch").asLong(-1))
            .setRack(Fields.textOrNull(step, "rack"))
            .setLogDirs(Fields.each(
                step.get("dirs"), dir -> cluster.labels.idOf(dir.asText())));
        request.listeners().add(new BrokerRegistrationRequestData.Listener()
            .setName("PLAINTEXT").setHost("host" + broker).setPort(9_000 + broker));
        step.get("features").properties().forEach(feature -> request.features().add(
            new BrokerRegistrationRequestData.Feature()
                .setName(feature.getKey())
                .setMinSupportedVersion(level(feature.getValue(), 0))
                .setMaxSupportedVersion(level(feature.getValue(), 1))));
        int newest = ApiKeys.BROKER_REGISTRATION.latestVersion();
        int version = Fields.integer(step, "version", newest);
        return new Reply<>(
            cluster.controller.registerBroker(cluster.asking(version), request),
            answer -> Fields.object().put("brokerEpoch", answer.epoch()));
    }

    private static short level(JsonNode range, int at) {
        return (short) range.required(at).asInt();
    }

    private Reply<?> heartbeat(ObjectNode step) {
        int broker = Fields.integer(step, "broker");
        BrokerHeartbeatRequestData request = new BrokerHeartbeatRequestData()
            .setBrokerId(broker)
            .setBrokerEpoch(epoch(cluster, step))
            .setCurrentMetadataOffset(offset(broker, step.path("offset").asText("end")))
            .setWantFence(Fields.flag(step, "want_fence"))
            .setWantShutDown(Fields.flag(step, "want_shut_down"))
            .setOfflineLogDirs(Fields.each(
                step.path("offline_dirs"), dir -> cluster.labels.idOf(dir.asText())));
        step.put("offset", request.currentMetadataOffset());
        return new Reply<>(
            cluster.controller.processBrokerHeartbeat(
                cluster.asking(ApiKeys.BROKER_HEARTBEAT), request),
            answer -> Fields.object()
                .put("isCaughtUp", answer.isCaughtUp())
                .put("isFenced", answer.isFenced())
                .put("shouldShutDown", answer.shouldShutDown()));
    }

    /** How far a broker has read: all, up to its registration, not even that, any number. */
    private long offset(int broker, String asked) {
        return switch (asked) {
            case "end", "null" -> cluster.log.logEndOffset() - 1;
            case "registered" -> cluster.view.registeredAt(broker, -1);
            case "before" -> cluster.view.registeredAt(broker, 0) - 1;
            default -> Long.parseLong(asked);
        };
    }

    private Reply<?> unregister(ObjectNode step) {
        return new Reply<>(
            cluster.controller.unregisterBroker(
                cluster.asking(ApiKeys.UNREGISTER_BROKER), Fields.integer(step, "broker")),
            done -> Fields.object());
    }

    private Reply<?> assignDirs(ObjectNode step) {
        AssignReplicasToDirsRequestData request = new AssignReplicasToDirsRequestData()
            .setBrokerId(Fields.integer(step, "broker"))
            .setBrokerEpoch(epoch(cluster, step))
            .setDirectories(Fields.each(step.required("dirs"), dir -> new DirectoryData()
                .setId(cluster.labels.idOf(Fields.text(dir, "dir")))
                .setTopics(Fields.each(dir.required("topics"), topic -> new TopicData()
                    .setTopicId(cluster.view.topicId(Fields.text(topic, "topic")))
                    .setPartitions(Fields.each(topic.required("partitions"), number ->
                        new PartitionData().setPartitionIndex(number.asInt())))))));
        return new Reply<>(
            cluster.controller.assignReplicasToDirs(
                cluster.asking(ApiKeys.ASSIGN_REPLICAS_TO_DIRS), request),
            BrokerRequests::show);
    }

    private static JsonNode show(AssignReplicasToDirsResponseData answer) {
        ArrayNode shown = Fields.JSON.createArrayNode();
        for (var dir : answer.directories()) {
            for (var topic : dir.topics()) {
                for (var partition : topic.partitions()) {
                    shown.addObject()
                        .put("dir", dir.id().toString())
                        .put("topicId", topic.topicId().toString())
                        .put("partition", partition.partitionIndex())
                        .put("error", Fields.nameOf(partition.errorCode()));
                }
            }
        }
        return shown;
    }

    private Reply<?> allocateProducerIds(ObjectNode step) {
        AllocateProducerIdsRequestData request = new AllocateProducerIdsRequestData()
            .setBrokerId(Fields.integer(step, "broker"))
            .setBrokerEpoch(epoch(cluster, step));
        return new Reply<>(
            cluster.controller.allocateProducerIds(
                cluster.asking(ApiKeys.ALLOCATE_PRODUCER_IDS), request),
            answer -> Fields.object()
                .put("start", answer.producerIdStart())
                .put("length", answer.producerIdLen()));
    }

    private Reply<?> registerController(ObjectNode step) {
        int node = Fields.integer(step, "controller");
        ControllerRegistrationRequestData request = new ControllerRegistrationRequestData()
            .setControllerId(node)
            .setIncarnationId(cluster.labels.idOf("inc:c" + node));
        request.listeners().add(new ControllerRegistrationRequestData.Listener()
            .setName("CONTROLLER").setHost("host" + node).setPort(9_093));
        step.path("features").properties().forEach(feature -> request.features().add(
            new ControllerRegistrationRequestData.Feature()
                .setName(feature.getKey())
                .setMinSupportedVersion(level(feature.getValue(), 0))
                .setMaxSupportedVersion(level(feature.getValue(), 1))));
        return new Reply<>(
            cluster.controller.registerController(
                cluster.asking(ApiKeys.CONTROLLER_REGISTRATION), request),
            done -> Fields.object());
    }
}
