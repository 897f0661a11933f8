import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import kafka.cluster.Broker;
import kafka.controller.ControllerChannelManager;
import kafka.controller.StateChangeLogger;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.LeaderAndIsrResponseData;
import org.apache.kafka.common.message.LeaderAndIsrResponseData.LeaderAndIsrPartitionError;
import org.apache.kafka.common.message.LeaderAndIsrResponseData.LeaderAndIsrTopicError;
import org.apache.kafka.common.message.StopReplicaResponseData;
import org.apache.kafka.common.message.StopReplicaResponseData.StopReplicaPartitionError;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataBroker;
import org.apache.kafka.common.message.UpdateMetadataResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.LeaderAndIsrResponse;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.StopReplicaResponse;
import org.apache.kafka.common.requests.UpdateMetadataRequest;
import org.apache.kafka.common.requests.UpdateMetadataResponse;
import org.apache.kafka.common.utils.Time;
import scala.Function0;
import scala.Function1;
import scala.Option;
import scala.runtime.BoxedUnit;

/**
 * Stands where the controller's connections to brokers are: writes every request down and answers
 * it at once, with success unless told otherwise. An answer becomes an event behind the one that
 * is being processed, so a scenario always runs in the same order.
 */
final class Recorder extends ControllerChannelManager {
    /** How one broker answers one kind of request. */
    record Mode(boolean silent, Errors error, Set<TopicPartition> partitions) {
        Errors of(TopicPartition tp) {
            return partitions == null || partitions.contains(tp) ? error : Errors.NONE;
        }
    }

    private static final Mode SUCCESS = new Mode(false, Errors.NONE, null);
    private static final short RECOVERY_SINCE = 6;

    private final Map<String, Mode> modes = new HashMap<>();
    private List<ObjectNode> sent = new ArrayList<>();

    Recorder(KafkaConfig config) {
        super(
            (Function0<Object>) () -> 0, config, Time.SYSTEM, new Metrics(),
            new StateChangeLogger(0, true, Option.empty()), Option.empty());
    }

    void setMode(int broker, String api, Mode mode) {
        modes.put(broker + api, mode);
    }

    synchronized ArrayNode takeSent() {
        ArrayNode all = View.JSON.createArrayNode();
        sent.forEach(all::add);
        sent = new ArrayList<>();
        return all;
    }

    // ---- in place of connections -------------------------------------------------------------

    @Override
    public void startup(scala.collection.Set<Broker> brokers) {
    }

    @Override
    public void shutdown() {
    }

    @Override
    public void addBroker(Broker broker) {
    }

    @Override
    public void removeBroker(int broker) {
    }

    @Override
    public synchronized void sendRequest(
        int broker,
        AbstractControlRequest.Builder<? extends AbstractControlRequest> builder,
        Function1<AbstractResponse, BoxedUnit> callback) {
        AbstractControlRequest request = builder.build();
        ObjectNode shown = show(request);
        shown.putArray("to").add(broker);
        sent.add(shown);
        Mode mode = modes.getOrDefault(broker + shown.get("api").asText(), SUCCESS);
        if (callback != null && !mode.silent()) {
            callback.apply(answer(request, mode));
        }
    }

    // ---- what was asked ----------------------------------------------------------------------

    private static ObjectNode show(AbstractControlRequest request) {
        ObjectNode shown = View.JSON.createObjectNode();
        if (request instanceof LeaderAndIsrRequest asked) {
            shown.put("api", "LeaderAndIsr").put("version", asked.version());
            show(asked, shown.putObject("partitions"));
        } else if (request instanceof StopReplicaRequest asked) {
            shown.put("api", "StopReplica").put("version", asked.version());
            ObjectNode partitions = shown.putObject("partitions");
            asked.partitionStates().forEach((tp, state) -> partitions.putObject(tp.toString())
                .put("leader_epoch", state.leaderEpoch())
                .put("delete", state.deletePartition()));
        } else if (request instanceof UpdateMetadataRequest asked) {
            shown.put("api", "UpdateMetadata").put("version", asked.version());
            show(asked, shown.putObject("partitions"));
            ArrayNode live = shown.putArray("live_brokers");
            asked.liveBrokers().stream().map(UpdateMetadataBroker::id).sorted().forEach(live::add);
        }
        return shown;
    }

    private static void show(LeaderAndIsrRequest asked, ObjectNode partitions) {
        asked.partitionStates().forEach(state -> {
            ObjectNode entry =
                partitions.putObject(state.topicName() + "-" + state.partitionIndex());
            entry.put("leader", state.leader()).put("leader_epoch", state.leaderEpoch());
            View.put(entry, "isr", state.isr());
            View.put(entry, "replicas", state.replicas());
            View.put(entry, "adding", state.addingReplicas());
            View.put(entry, "removing", state.removingReplicas());
            entry.put("is_new", state.isNew()).put("partition_epoch", state.partitionEpoch());
            entry.put("controller_epoch", state.controllerEpoch());
            if (asked.version() >= RECOVERY_SINCE) {
                entry.put("recovery", state.leaderRecoveryState());
            }
        });
    }

    private static void show(UpdateMetadataRequest asked, ObjectNode partitions) {
        asked.partitionStates().forEach(state -> {
            ObjectNode entry =
                partitions.putObject(state.topicName() + "-" + state.partitionIndex());
            entry.put("leader", state.leader()).put("leader_epoch", state.leaderEpoch());
            View.put(entry, "isr", state.isr());
            View.put(entry, "replicas", state.replicas());
            View.put(entry, "offline", state.offlineReplicas());
        });
    }

    // ---- what is answered --------------------------------------------------------------------

    private static AbstractResponse answer(AbstractControlRequest request, Mode mode) {
        if (request instanceof LeaderAndIsrRequest asked) {
            return answer(asked, mode);
        }
        return request instanceof StopReplicaRequest asked
            ? answer(asked, mode)
            : new UpdateMetadataResponse(new UpdateMetadataResponseData());
    }

    private static AbstractResponse answer(LeaderAndIsrRequest asked, Mode mode) {
        LeaderAndIsrResponseData data = new LeaderAndIsrResponseData();
        boolean byId = asked.version() >= 5;
        Map<String, LeaderAndIsrTopicError> topics = new HashMap<>();
        asked.partitionStates().forEach(state -> {
            TopicPartition tp = new TopicPartition(state.topicName(), state.partitionIndex());
            LeaderAndIsrPartitionError error = new LeaderAndIsrPartitionError()
                .setPartitionIndex(tp.partition())
                .setErrorCode(mode.of(tp).code());
            if (byId) {
                topics.computeIfAbsent(tp.topic(), name -> new LeaderAndIsrTopicError()
                    .setTopicId(asked.topicIds().get(name))).partitionErrors().add(error);
            } else {
                data.partitionErrors().add(error.setTopicName(tp.topic()));
            }
        });
        topics.values().forEach(data.topics()::add);
        return new LeaderAndIsrResponse(data, asked.version());
    }

    private static AbstractResponse answer(StopReplicaRequest asked, Mode mode) {
        StopReplicaResponseData data = new StopReplicaResponseData();
        asked.partitionStates().keySet().forEach(tp -> data.partitionErrors().add(
            new StopReplicaPartitionError()
                .setTopicName(tp.topic())
                .setPartitionIndex(tp.partition())
                .setErrorCode(mode.of(tp).code())));
        return new StopReplicaResponse(data);
    }
}
