import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import kafka.controller.*;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState;
import org.apache.kafka.common.message.AlterPartitionRequestData.PartitionData;
import org.apache.kafka.common.message.AlterPartitionRequestData.TopicData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ApiError;
import scala.Function1;
import scala.Option;
import scala.Some;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;
import scala.util.Either;
import scala.util.Try;

/** The steps that call the controller itself: its API, its machines, its memory. */
final class Calls {
    private final Watched controller;
    private final ControllerContext context;
    private final AtomicReference<JsonNode> answer = new AtomicReference<>();

    Calls(Watched controller) {
        this.controller = controller;
        this.context = controller.controllerContext();
    }

    JsonNode act(JsonNode step) throws Exception {
        switch (step.get("op").asText()) {
            case "controlled_shutdown" -> shutDown(step);
            case "alter_isr" -> alterIsr(step);
            case "elect_leaders" -> electLeaders(step);
            case "api_reassign" -> reassign(step);
            case "list_reassignments" -> list(step);
            case "auto_rebalance" ->
                controller.eventManager().put(AutoPreferredReplicaLeaderElection$.MODULE$);
            case "stop_replica_response" -> answerLate(step);
            case "force_partition_state" -> controller.aside(() -> context.putPartitionState(
                partition(step), partitionState(Scenario.text(step, "state"))));
            case "force_replica_state" -> controller.aside(() -> context.putReplicaState(
                new PartitionAndReplica(partition(step), step.get("replica").asInt()),
                replicaState(Scenario.text(step, "state"))));
            case "partition_state_change" -> changePartitions(step);
            case "replica_state_change" -> changeReplicas(step);
            default -> throw new IllegalArgumentException("unknown step " + step);
        }
        controller.settle();
        return answer.get();
    }

    private static TopicPartition partition(JsonNode step) {
        return Tree.partition(Scenario.text(step, "partition"));
    }

    /** A callback that keeps what it is told. */
    private <T> Function1<T, BoxedUnit> keep(java.util.function.Function<T, JsonNode> show) {
        return told -> {
            answer.set(show.apply(told));
            return BoxedUnit.UNIT;
        };
    }

    private static ObjectNode object() {
        return View.JSON.createObjectNode();
    }

    private static ObjectNode error(ApiError error) {
        return object().put("error", error.error().name());
    }

    // ---- requests ----------------------------------------------------------------------------

    private void shutDown(JsonNode step) {
        int broker = step.get("broker").asInt();
        long epoch = step.path("broker_epoch").asLong(epochOf(broker, -1));
        Function1<Try<scala.collection.Set<TopicPartition>>, BoxedUnit> callback = keep(told -> {
            if (told.isFailure()) {
                return object().put("error", Errors.forException(told.failed().get()).name());
            }
            ObjectNode shown = object();
            var remaining = shown.putArray("remaining");
            CollectionConverters.asJava(told.get()).stream()
                .map(TopicPartition::toString).sorted().forEach(remaining::add);
            return shown;
        });
        controller.controlledShutdown(broker, epoch, callback);
    }

    private long epochOf(int broker, long otherwise) {
        Option<Object> known = context.liveBrokerIdAndEpochs().get(broker);
        return known.isEmpty() ? otherwise : (Long) known.get();
    }

    private void alterIsr(JsonNode step) {
        TopicPartition tp = partition(step);
        short version = (short) step.path("version").asInt(3);
        var known = context.partitionLeadershipInfo(tp);
        int leader = known.isEmpty() ? -1 : known.get().leaderAndIsr().leader();
        int leaderEpoch = known.isEmpty() ? 0 : known.get().leaderAndIsr().leaderEpoch();
        int epoch = known.isEmpty() ? 0 : known.get().leaderAndIsr().partitionEpoch();
        PartitionData wish = new PartitionData()
            .setPartitionIndex(tp.partition())
            .setLeaderEpoch(leaderEpoch + step.path("leader_epoch_delta").asInt(0))
            .setPartitionEpoch(epoch + step.path("partition_epoch_delta").asInt(0))
            .setLeaderRecoveryState((byte) step.path("recovery").asInt(0));
        for (JsonNode id : step.get("isr")) {
            if (version < 3) {
                wish.newIsr().add(id.asInt());
            } else {
                wish.newIsrWithEpochs().add(new BrokerState()
                    .setBrokerId(id.asInt()).setBrokerEpoch(epochOf(id.asInt(), -1)));
            }
        }
        int sender = step.path("from").asInt(leader);
        AlterPartitionRequestData request = new AlterPartitionRequestData()
            .setBrokerId(sender)
            .setBrokerEpoch(epochOf(sender, 0) + step.path("broker_epoch_delta").asInt(0));
        request.topics().add(topicOf(tp, version, step).setPartitions(List.of(wish)));
        controller.alterPartitions(request, version, keep(Calls::show));
    }

    private TopicData topicOf(TopicPartition tp, short version, JsonNode step) {
        if (step.path("unknown_topic_id").asBoolean()) {
            return new TopicData().setTopicId(new Uuid(77, 77));
        }
        Option<Uuid> id = context.topicIds().get(tp.topic());
        return version < 2
            ? new TopicData().setTopicName(tp.topic())
            : new TopicData().setTopicId(id.isEmpty() ? new Uuid(7, 7) : id.get());
    }

    private static JsonNode show(AlterPartitionResponseData told) {
        ObjectNode shown = object().put("error", Errors.forCode(told.errorCode()).name());
        told.topics().forEach(topic -> topic.partitions().forEach(found -> {
            shown.put("partition_error", Errors.forCode(found.errorCode()).name());
            if (found.errorCode() == 0) {
                shown.put("leader", found.leaderId()).put("leader_epoch", found.leaderEpoch());
                View.put(shown, "isr", found.isr());
                shown.put("partition_epoch", found.partitionEpoch());
            }
        }));
        return shown;
    }

    private void electLeaders(JsonNode step) {
        Set<TopicPartition> chosen = new LinkedHashSet<>(step.hasNonNull("partitions")
            ? Scenario.partitions(step.get("partitions"))
            : CollectionConverters.asJava(context.allPartitions()));
        Function1<scala.collection.Map<TopicPartition, Either<ApiError, Object>>, BoxedUnit> told =
            keep(results -> {
                ObjectNode shown = object();
                CollectionConverters.asJava(results).forEach((tp, result) -> shown.put(
                    tp.toString(),
                    result.isRight() ? "NONE" : result.swap().toOption().get().error().name()));
                return shown;
            });
        ElectionType type = ElectionType.valueOf(step.path("type").asText("PREFERRED"));
        controller.electLeaders(
            scala.collection.immutable.Set.from(CollectionConverters.asScala(chosen)), type, told);
    }

    private void reassign(JsonNode step) {
        Map<TopicPartition, Option<scala.collection.Seq<Object>>> plan = new HashMap<>();
        step.get("plan").fields().forEachRemaining(entry -> plan.put(
            Tree.partition(entry.getKey()),
            entry.getValue().isNull() ? Option.empty()
                : new Some<>(Seq.from(
                    CollectionConverters.asScala(Scenario.ids(entry.getValue()))))));
        Function1<Either<scala.collection.Map<TopicPartition, ApiError>, ApiError>,
            BoxedUnit> told = keep(result -> {
                if (result.isRight()) {
                    return error(result.toOption().get());
                }
                ObjectNode shown = object();
                ObjectNode errors = shown.putObject("partitions");
                CollectionConverters.asJava(result.swap().toOption().get()).forEach(
                    (tp, error) -> errors.put(tp.toString(), error.error().name()));
                return shown;
            });
        controller.alterPartitionReassignments(Scenario.scalaMap(plan), told);
    }

    private void list(JsonNode step) {
        Option<scala.collection.Set<TopicPartition>> asked = Option.empty();
        if (step.hasNonNull("partitions")) {
            asked = new Some<>(scala.collection.immutable.Set.from(
                CollectionConverters.asScala(Scenario.partitions(step.get("partitions")))));
        }
        Function1<Either<scala.collection.Map<TopicPartition, ReplicaAssignment>, ApiError>,
            BoxedUnit> told = keep(result -> {
                if (result.isRight()) {
                    return error(result.toOption().get());
                }
                ObjectNode shown = object();
                CollectionConverters.asJava(result.swap().toOption().get()).forEach(
                    (tp, moving) -> View.show(moving, shown.putObject(tp.toString())));
                return shown;
            });
        controller.listPartitionReassignments(asked, told);
    }

    private void answerLate(JsonNode step) {
        Map<TopicPartition, Errors> errors = new LinkedHashMap<>();
        step.get("errors").fields().forEachRemaining(entry -> errors.put(
            Tree.partition(entry.getKey()), Errors.valueOf(entry.getValue().asText())));
        // whoever hands an answer to the controller looks at this first
        errors.keySet().removeIf(tp -> !context.isTopicDeletionInProgress(tp.topic()));
        if (errors.isEmpty()) {
            return;
        }
        Errors whole = Errors.valueOf(step.path("request_error").asText("NONE"));
        controller.eventManager().put(new TopicDeletionStopReplicaResponseReceived(
            step.get("broker").asInt(), whole, Scenario.scalaMap(errors)));
    }

    // ---- the machines ------------------------------------------------------------------------

    private void changePartitions(JsonNode step) throws InterruptedException {
        Seq<TopicPartition> chosen =
            Seq.from(CollectionConverters.asScala(Scenario.partitions(step.get("partitions"))));
        PartitionState target = partitionState(Scenario.text(step, "target"));
        controller.aside(() -> controller.partitionStateMachine()
            .handleStateChanges(chosen, target, strategy(step)));
    }

    private void changeReplicas(JsonNode step) throws InterruptedException {
        List<PartitionAndReplica> chosen = new ArrayList<>();
        step.get("replicas").forEach(pair -> chosen.add(new PartitionAndReplica(
            Tree.partition(pair.get(0).asText()), pair.get(1).asInt())));
        ReplicaState target = replicaState(Scenario.text(step, "target"));
        controller.aside(() -> controller.replicaStateMachine()
            .handleStateChanges(Seq.from(CollectionConverters.asScala(chosen)), target));
    }

    private static Option<PartitionLeaderElectionStrategy> strategy(JsonNode step) {
        if (!step.hasNonNull("strategy")) {
            return Option.empty();
        }
        boolean unclean = step.path("unclean").asBoolean();
        return new Some<>(switch (Scenario.text(step, "strategy")) {
            case "offline" -> new OfflinePartitionLeaderElectionStrategy(unclean);
            case "offline_unclean" -> new OfflinePartitionLeaderElectionStrategy(true);
            case "reassign" -> ReassignPartitionLeaderElectionStrategy$.MODULE$;
            case "preferred" -> PreferredReplicaPartitionLeaderElectionStrategy$.MODULE$;
            default -> ControlledShutdownPartitionLeaderElectionStrategy$.MODULE$;
        });
    }

    private static PartitionState partitionState(String name) {
        return switch (name) {
            case "NewPartition" -> NewPartition$.MODULE$;
            case "OnlinePartition" -> OnlinePartition$.MODULE$;
            case "OfflinePartition" -> OfflinePartition$.MODULE$;
            default -> NonExistentPartition$.MODULE$;
        };
    }

    private static ReplicaState replicaState(String name) {
        return switch (name) {
            case "NewReplica" -> NewReplica$.MODULE$;
            case "OnlineReplica" -> OnlineReplica$.MODULE$;
            case "OfflineReplica" -> OfflineReplica$.MODULE$;
            case "ReplicaDeletionStarted" -> ReplicaDeletionStarted$.MODULE$;
            case "ReplicaDeletionSuccessful" -> ReplicaDeletionSuccessful$.MODULE$;
            case "ReplicaDeletionIneligible" -> ReplicaDeletionIneligible$.MODULE$;
            default -> NonExistentReplica$.MODULE$;
        };
    }
}
